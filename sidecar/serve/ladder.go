package serve

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/knowledge"
)

// ladderCheckInterval is the interval for checking a file for changes. Files of a ConfigMap
// change by swapping symlinks, which not all file systems notify.
const ladderCheckInterval = 2 * time.Second

// followLadder calls use with the content of a file when it has changed, until ctx
// ends. A missing, invalid or refused file changes nothing, and is logged once for
// each content.
func followLadder(ctx context.Context, file string, known []byte, log *slog.Logger, count reloads, use func(content []byte) error) {
	if file == "" {
		return
	}
	ticks := time.NewTicker(ladderCheckInterval)
	defer ticks.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		content, err := flags.ReadLadder(file)
		if err == nil && bytes.Equal(content, known) {
			last = ""
			count.refused.Set(0)
			continue
		}
		if err == nil {
			_, err = flags.KnowledgeWith(content)
		}
		if err == nil {
			err = use(content)
		}
		if err != nil {
			if text := inOneLine(err).Error(); text != last {
				last = text
				count.changes.WithLabelValues(reloadRefused).Inc()
				count.refused.Set(1)
				log.Error("the changed file is invalid; the previous one stays in effect", "file", file, "error", text)
			}
			continue
		}
		known, last = content, ""
		count.changes.WithLabelValues(reloadUsed).Inc()
		count.refused.Set(0)
		log.Info("the changed file is used from now on", "file", file)
	}
}

// ReadLadder reads the ladder.yaml for all components as the server does. The error joins all
// findings.
func ReadLadder(text string) error {
	_, err := flags.KnowledgeWith([]byte(knowledge.File + "\n" + text))
	return err
}
