package flags

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/render/random"
)

// SeedVariable is the environment variable with the default of --seed-file.
const SeedVariable = "LADDER_SEED_FILE"

// SeedFlag adds the flag that names the file to a command.
func SeedFlag(flags *pflag.FlagSet) *string {
	return flags.String("seed-file", os.Getenv(SeedVariable),
		"File with the seed from which random values of charts are derived; without one they are new on every render. "+
			SeedVariable+" sets the default")
}

// NewSeed returns the content of a new file.
func NewSeed() string {
	var bits [random.MinSeedBytes]byte
	rand.Read(bits[:]) // never fails
	return random.NewSeed(bits)
}

// maxBytes limits how much of a file is read, which may be endless.
const maxBytes = 64 << 10

// ReadSeed returns the seed in a file, or nil without a file. Errors do not contain any
// of it.
func ReadSeed(file string) (*random.Seed, error) {
	if file == "" {
		return nil, nil
	}
	content, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("--seed-file: %s: %s; fix: correct --seed-file or %s, or make a seed with cmp seed", file,
			wholefile.Reason(err), SeedVariable)
	}
	s, err := random.ParseSeed(content)
	if err != nil {
		return nil, fmt.Errorf("--seed-file: %s: %w", file, err)
	}
	return &s, nil
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("the file is larger than %d bytes", maxBytes)
	}
	return content, err
}
