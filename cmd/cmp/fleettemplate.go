package main

import (
	"github.com/ladder-cmp/ladder/fleet/applications"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ownTemplate reads the file of --template; it returns nil if the flag is not set.
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
