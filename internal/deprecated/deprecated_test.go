package deprecated_test

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/deprecated"
)

func TestAcceptReportsAnOldNameOnce(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	drain := flags.Duration("drain-timeout", 0, "")
	var told []string
	deprecated.Accept(flags, func(old, replacement string) { told = append(told, old+" "+replacement) })
	if err := flags.Parse([]string{"--drain=3s", "--drain", "5s"}); err != nil {
		t.Fatal(err)
	}
	if drain.String() != "5s" || !flags.Changed("drain-timeout") {
		t.Errorf("--drain sets %s", drain)
	}
	if !slices.Equal(told, []string{"drain drain-timeout"}) {
		t.Errorf("reported %q", told)
	}
}
