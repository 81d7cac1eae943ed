package repository

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"
)

// TestFaultsKeepTheirCause converts errors as a process does that only gets the answers of
// another one. Messages depend on the cause, so it must be the same there.
func TestFaultsKeepTheirCause(t *testing.T) {
	t.Parallel()
	missing := Ask(fstest.MapFS{"dir/file": {Data: []byte("a")}}, Question{Op: readFile, Path: "gone"}).Fault.Err()
	if !errors.Is(missing, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", missing)
	}
	for _, cause := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.EISDIR} {
		want := &fs.PathError{Op: "read", Path: "dir", Err: cause}
		if err := FaultOf(want).Err(); !errors.Is(err, cause) || err.Error() != want.Error() {
			t.Errorf("%v; want %v", err, want)
		}
	}
}
