// Package wire is the protocol between Argo CD's repo-server and a plugin,
// generated from plugin.proto.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto
