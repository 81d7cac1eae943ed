package cli

import (
	"os"
	"strings"
)

// Environment returns the environment of this process.
func Environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}
