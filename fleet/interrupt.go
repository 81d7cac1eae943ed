package fleet

import (
	"context"
	"errors"
	"os"
	"os/signal"

	"github.com/ladder-cmp/ladder/knowledge"
)

// LoadUntilInterrupted loads a fleet. The first interrupt cancels the loading cleanly, and the
// next one ends the program.
func LoadUntilInterrupted(ctx context.Context, src Source, base *knowledge.Base) (*Fleet, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	f, err := Load(ctx, src, base)
	if err == nil || ctx.Err() == nil {
		return f, err
	}
	if src.Progress != nil {
		src.Progress(0, 0, "")
	}
	return nil, errors.New("interrupted while rendering; nothing was written")
}
