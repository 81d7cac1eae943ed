// Package sidecartest is for tests of plugin servers: tasks as functions, and a client
// that behaves like Argo CD's repo-server, which packs a directory and streams it in
// chunks.
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
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// Client is a client of the server behind a socket.
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

// Over returns a client that uses an existing connection.
func Over(conn *grpc.ClientConn) *Client {
	return &Client{conn, wire.NewConfigManagementPluginServiceClient(conn)}
}

// Conn returns the connection, for other services on it.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Archive is a repository in the form in which it is streamed.
type Archive struct {
	Tgz      []byte
	Checksum string
}

// Pack creates an archive of a directory.
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

// Entry is a file of a handmade archive.
type Entry struct {
	tar.Header
	Data []byte
}

// File returns an entry for a file with the given content.
func File(name, content string) Entry {
	return Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, Data: []byte(content)}
}

// writers are reused, since a new one takes most of the time of a small archive, and fast, which is
// most of the time of a large one.
var writers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	return z
}}

// PackEntries creates an archive of the given entries, valid or not.
func PackEntries(entries ...Entry) Archive {
	var buf bytes.Buffer
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(&buf)
	w := tar.NewWriter(z)
	for _, e := range entries {
		if e.Typeflag == tar.TypeReg || e.Typeflag == 0 {
			e.Size = int64(len(e.Data))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			panic(err) // in the test that created the entry
		}
		if _, err := w.Write(e.Data); err != nil {
			panic(err)
		}
	}
	w.Close()
	z.Close()
	return Seal(buf.Bytes())
}

// Seal adds the checksum to an archive.
func Seal(tgz []byte) Archive {
	sum := sha256.Sum256(tgz)
	return Archive{tgz, hex.EncodeToString(sum[:])}
}

// Request is a request to stream.
type Request struct {
	Archive Archive
	// Dir is the Application's directory in the archive.
	Dir string
	Env map[string]string
	// Chunk is the size of a message; the default is 1024 bytes as in Argo CD.
	Chunk int
}

type sender interface {
	Send(*wire.AppStreamRequest) error
}

// send streams a request. Like Argo CD's client it returns a send error as it is,
// without reading the response.
func send(s sender, r Request) error {
	meta := &wire.ManifestRequestMetadata{AppName: filepath.Base(r.Dir), AppRelPath: r.Dir, Checksum: r.Archive.Checksum,
		Size: int64(len(r.Archive.Tgz))}
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

// GenerateManifest requests the manifests of a request.
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

// MatchRepository asks whether the plugin supports a request.
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

// GetParametersAnnouncement requests the plugin's parameters.
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

// CheckPluginConfiguration requests the plugin's discovery settings.
func (c *Client) CheckPluginConfiguration(ctx context.Context) (*wire.CheckPluginConfigurationResponse, error) {
	return c.rpc.CheckPluginConfiguration(ctx, &emptypb.Empty{})
}
