package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// stdout is the name of a File for standard output.
const stdout = "-"

// formats are formats that -o accepts in other commands, and that are unlikely as names of
// files.
var formats = []string{"mermaid", "dot", "svg", "html", "text", "json", "sarif", "markdown", "yaml"}

// File is the value of --output of a command that writes one file.
type File struct{ name string }

// OutputFile adds --output to a command that writes one file, by default to standard output.
// content describes the content of the file, and example is a name for it.
func OutputFile(cmd *cobra.Command, usageText, content, example string) *File {
	out := &File{}
	cmd.Flags().StringVarP(&out.name, "output", "o", stdout, usageText)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)) // the flag exists
	addCheck(cmd, func() error {
		if slices.Contains(formats, out.name) {
			return finding.Usagef("--output names the file of %s here, and %q is a format of other commands; "+
				"write -o %s, or -o ./%s for a file of that name", content, out.name, example, out.name)
		}
		return nil
	})
	return out
}

// Write writes the content to the file, atomically, or to standard output.
func (o *File) Write(out io.Writer, content string, mode fs.FileMode) error {
	if o.name == stdout {
		_, err := io.WriteString(out, content)
		return err
	}
	if info, err := os.Stat(o.name); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory; name a file in it", o.name)
	}
	if err := wholefile.WriteFile(o.name, []byte(content), mode); err != nil {
		return fmt.Errorf("%s: %s; name a file that can be written", o.name, wholefile.Reason(err))
	}
	return nil
}
