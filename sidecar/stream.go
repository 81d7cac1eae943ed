package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// stream is the receiving side of the three calls that carry a repository.
type stream interface {
	Recv() (*wire.AppStreamRequest, error)
}

// receive reads a repository to the end of its stream. It must, even after an
// error: when the server answers early, Argo CD's client reports the broken
// stream ("EOF") instead of the answer (util/cmp/stream.go).
//
// The archive is unpacked while it arrives, and thrown away if the checksum
// turns out wrong. size is what the repository takes, as Limits counts.
func receive(s stream, unpack func(io.Reader) (*tree, error)) (in Input, size int64, err error) {
	first, err := s.Recv()
	if err != nil {
		return Input{}, 0, brokenStream(err)
	}
	meta := first.GetMetadata()
	if meta == nil {
		return Input{}, 0, errors.Join(drain(s), status.Error(codes.InvalidArgument, "the stream does not begin with metadata"))
	}
	unpacked, err := unpackStream(s, meta.GetChecksum(), unpack)
	if err != nil {
		return Input{}, 0, err
	}
	in = Input{Repo: unpacked, Dir: path.Clean(meta.GetAppRelPath()), Env: map[string]string{}}
	if !fs.ValidPath(in.Dir) {
		return Input{}, 0, status.Errorf(codes.InvalidArgument, "the application's path %q leaves the repository", meta.GetAppRelPath())
	}
	for _, e := range meta.GetEnv() {
		if e != nil {
			in.Env[e.GetName()] = e.GetValue()
		}
	}
	return in, unpacked.bytes, nil
}

// unpackStream reads the chunks of the archive.
func unpackStream(s stream, checksum string, unpack func(io.Reader) (*tree, error)) (*tree, error) {
	type result struct {
		tree *tree
		err  error
	}
	pr, pw := io.Pipe()
	done := make(chan result, 1)
	go func() {
		t, err := unpack(pr)
		pr.CloseWithError(errUnpacked) // lets the writer go on draining
		done <- result{t, err}
	}()
	hash := sha256.New()
	var broken error
	for broken == nil {
		msg, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			broken = brokenStream(err)
			break
		}
		if msg.GetFile() == nil {
			broken = errors.Join(drain(s), status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
			break
		}
		hash.Write(msg.GetFile().GetChunk())
		if _, err := pw.Write(msg.GetFile().GetChunk()); err != nil && !errors.Is(err, errUnpacked) {
			broken = err
		}
	}
	pw.Close()
	unpacked := <-done
	if broken != nil {
		return nil, broken
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != checksum {
		return nil, status.Errorf(codes.DataLoss, "the repository arrived damaged: its checksum is %s, not %s", got, checksum)
	}
	if unpacked.err != nil {
		code := codes.InvalidArgument
		if errors.Is(unpacked.err, errLimit) {
			code = codes.ResourceExhausted
		}
		return nil, status.Error(code, unpacked.err.Error())
	}
	return unpacked.tree, nil
}

var errUnpacked = errors.New("unpacking has ended")

// drain reads a stream to its end.
func drain(s stream) error {
	for {
		if _, err := s.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return brokenStream(err)
		}
	}
}

// brokenStream is what to return when the client is gone or its deadline has
// passed.
func brokenStream(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, fmt.Sprintf("the repository did not arrive: %v", err))
}
