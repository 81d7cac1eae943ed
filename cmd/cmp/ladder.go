package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// ladderEnv names the variable that sets the default of --ladder, for those who
// run Argo CD's own plugin server, which gives no flags.
const ladderEnv = "LADDER_CONFIG"

// ladderFlag is the file that holds for every component: the sidecar's own.
func ladderFlag(flags *pflag.FlagSet) *string {
	return flags.String("ladder", os.Getenv(ladderEnv), "A "+knowledge.File+" for every component, as the plugin server has one; those in the repository win over it. "+ladderEnv+" sets the default")
}

// knowledgeBase is what the program knows about kinds, with what the file says
// besides, if one is named.
func knowledgeBase(file string) (*knowledge.Base, error) {
	named, err := readLadder(file)
	if err != nil {
		return nil, err
	}
	return withLadder(named)
}

// readLadder returns a file behind a line with its name, or nothing if none is
// named.
func readLadder(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: no such file; correct --ladder or %s", file, ladderEnv)
	}
	if err != nil {
		return nil, plugin.Unreadable(file, err)
	}
	return append([]byte(file+"\n"), text...), nil
}

// withLadder is what the program knows, with what readLadder returned.
func withLadder(named []byte) (*knowledge.Base, error) {
	name, text, any := strings.Cut(string(named), "\n")
	if !any {
		return knowledge.Default(), nil
	}
	return knowledge.Default().With(name, text)
}

// ladderPace is how often a file is looked at that may change. The file of a
// ConfigMap changes by a change of links, which not all file systems announce.
const ladderPace = 2 * time.Second

// followLadder calls use with the content of a file when it has changed, until
// ctx ends. A file that is missing, wrong or refused changes nothing, and the
// log says so, once for each content.
func followLadder(ctx context.Context, file string, known []byte, log *slog.Logger, count reloads, use func(named []byte) error) {
	if file == "" {
		return
	}
	ticks := time.NewTicker(ladderPace)
	defer ticks.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		named, err := readLadder(file)
		if err == nil && bytes.Equal(named, known) {
			last = ""
			count.refused.Set(0)
			continue
		}
		if err == nil {
			_, err = withLadder(named)
		}
		if err == nil {
			err = use(named)
		}
		if err != nil {
			if text := inOneLine(err).Error(); text != last {
				last = text
				count.changes.WithLabelValues(reloadRefused).Inc()
				count.refused.Set(1)
				log.Error("the changed file is not used, the one before still holds", "file", file, "error", text)
			}
			continue
		}
		known, last = named, ""
		count.changes.WithLabelValues(reloadUsed).Inc()
		count.refused.Set(0)
		log.Info("the changed file is used from now on", "file", file)
	}
}
