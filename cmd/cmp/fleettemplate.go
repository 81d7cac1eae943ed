package main

import (
	"github.com/ladder-cmp/ladder/fleet/applications"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ownTemplate reads the file of --template; nil if it has no name.
func ownTemplate(file, kind string) (*applications.OwnTemplate, error) {
	if file == "" {
		return nil, nil
	}
	text, err := wholefile.Read(file, "correct --template")
	if err != nil {
		return nil, err
	}
	return applications.NewOwnTemplate(file, kind, text)
}
