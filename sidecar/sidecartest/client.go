// Package sidecartest drives a plugin server in tests the way Argo CD's
// repo-server does: it packs a directory and streams it in chunks.
package sidecartest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// Client talks to the server behind a socket.
type Client struct {
	conn *grpc.ClientConn
	rpc  wire.ConfigManagementPluginServiceClient
}

// Dial connects to a socket.
func Dial(socket string) (*Client, error) {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20)))
	if err != nil {
		return nil, err
	}
	return Over(conn), nil
}

// Over talks over a connection that is there.
func Over(conn *grpc.ClientConn) *Client {
	return &Client{conn, wire.NewConfigManagementPluginServiceClient(conn)}
}

// Conn gives access to the connection, for other services on it.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Archive is a repository as it goes over the stream.
type Archive struct {
	Tgz      []byte
	Checksum string
}

// Pack makes an archive of a directory.
func Pack(dir string) (Archive, error) {
	var entries []Entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		e := Entry{Header: tar.Header{Name: filepath.ToSlash(rel), Mode: 0o644}}
		switch {
		case d.IsDir():
			e.Typeflag = tar.TypeDir
		case d.Type()&fs.ModeSymlink != 0:
			e.Typeflag = tar.TypeSymlink
			if e.Linkname, err = os.Readlink(path); err != nil {
				return err
			}
		default:
			e.Typeflag = tar.TypeReg
			if e.Data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return Archive{}, err
	}
	return PackEntries(entries...), nil
}

// Entry is a file of an archive made by hand.
type Entry struct {
	tar.Header
	Data []byte
}

// File is an entry with a file of that content.
func File(name, content string) Entry {
	return Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, Data: []byte(content)}
}

// PackEntries makes an archive of the given entries, however wrong they are.
func PackEntries(entries ...Entry) Archive {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, e := range entries {
		if e.Typeflag == tar.TypeReg || e.Typeflag == 0 {
			e.Size = int64(len(e.Data))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			panic(err) // of the test that made the entry
		}
		if _, err := w.Write(e.Data); err != nil {
			panic(err)
		}
	}
	w.Close()
	z.Close()
	return Seal(buf.Bytes())
}

// Seal gives bytes their checksum.
func Seal(tgz []byte) Archive {
	sum := sha256.Sum256(tgz)
	return Archive{tgz, hex.EncodeToString(sum[:])}
}

// Request is what goes over the stream.
type Request struct {
	Archive Archive
	// Dir is the Application's directory in the archive.
	Dir string
	Env map[string]string
	// Chunk is the size of a message, 1024 bytes by default as in Argo CD.
	Chunk int
}

type sender interface {
	Send(*wire.AppStreamRequest) error
}

// send streams a request. Like Argo CD's client it reports a failure to send
// as it is, and never looks at the answer then.
func send(s sender, r Request) error {
	meta := &wire.ManifestRequestMetadata{AppName: filepath.Base(r.Dir), AppRelPath: r.Dir, Checksum: r.Archive.Checksum, Size: int64(len(r.Archive.Tgz))}
	for name, value := range r.Env {
		meta.Env = append(meta.Env, &wire.EnvEntry{Name: name, Value: value})
	}
	if err := s.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{Metadata: meta}}); err != nil {
		return fmt.Errorf("error sending metadata: %w", err)
	}
	size := r.Chunk
	if size == 0 {
		size = 1024
	}
	chunk := make([]byte, size)
	for reader := bytes.NewReader(r.Archive.Tgz); ; {
		n, err := reader.Read(chunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := s.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: chunk[:n]}}}); err != nil {
			return fmt.Errorf("error sending file: %w", err)
		}
	}
}

// GenerateManifest asks for the manifests of a request.
func (c *Client) GenerateManifest(ctx context.Context, r Request) ([]string, error) {
	stream, err := c.rpc.GenerateManifest(ctx)
	if err != nil {
		return nil, err
	}
	if err := send(stream, r); err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	return res.GetManifests(), nil
}

// MatchRepository asks whether the plugin wants a request.
func (c *Client) MatchRepository(ctx context.Context, r Request) (*wire.RepositoryResponse, error) {
	stream, err := c.rpc.MatchRepository(ctx)
	if err != nil {
		return nil, err
	}
	if err := send(stream, r); err != nil {
		return nil, err
	}
	return stream.CloseAndRecv()
}

// GetParametersAnnouncement asks for the plugin's parameters.
func (c *Client) GetParametersAnnouncement(ctx context.Context, r Request) ([]*wire.ParameterAnnouncement, error) {
	stream, err := c.rpc.GetParametersAnnouncement(ctx)
	if err != nil {
		return nil, err
	}
	if err := send(stream, r); err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	return res.GetParameterAnnouncements(), err
}

// CheckPluginConfiguration asks what the plugin wants to be asked.
func (c *Client) CheckPluginConfiguration(ctx context.Context) (*wire.CheckPluginConfigurationResponse, error) {
	return c.rpc.CheckPluginConfiguration(ctx, &emptypb.Empty{})
}
