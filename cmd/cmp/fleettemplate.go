package main

import (
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ownTemplate reads the file of --template; nil if it has no name.
func ownTemplate(file, kind string) (*fleet.OwnTemplate, error) {
	if file == "" {
		return nil, nil
	}
	text, err := wholefile.Read(file, "correct --template")
	if err != nil {
		return nil, err
	}
	return fleet.NewOwnTemplate(file, kind, text)
}
