package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
)

// floor answers everything with the same manifests.
type floor struct {
	apiclient.ConfigManagementPluginServiceServer
	answer *apiclient.ManifestResponse
}

// serveFloor serves the manifests in a file, which are a list in JSON.
func serveFloor(socket, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	answer := &apiclient.ManifestResponse{}
	if err := json.Unmarshal(text, &answer.Manifests); err != nil {
		return err
	}
	lis, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(apiclient.MaxGRPCMessageSize), grpc.MaxSendMsgSize(apiclient.MaxGRPCMessageSize))
	apiclient.RegisterConfigManagementPluginServiceServer(s, floor{answer: answer})
	return s.Serve(lis)
}

func (floor) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*apiclient.CheckPluginConfigurationResponse, error) {
	return &apiclient.CheckPluginConfigurationResponse{}, nil
}

func (f floor) GenerateManifest(stream apiclient.ConfigManagementPluginService_GenerateManifestServer) error {
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(f.answer)
		}
		if err != nil {
			return err
		}
	}
}
