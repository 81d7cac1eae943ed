// Package conformance holds Argo CD 3's own code against the plugin.
package conformance

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	grpc_retry "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	pluginclient "github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/cmpserver/plugin"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	utilio "github.com/argoproj/argo-cd/v3/util/io"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

func TestMain(m *testing.M) {
	suite.Main(m, func() error { return commands.NewCommand().Execute() })
}

func TestConformance(t *testing.T) { suite.Run(t, argoCD{}) }

// argoCD is Argo CD 3.
type argoCD struct{}

func (argoCD) Generate(ctx context.Context, app suite.Application) ([]string, error) {
	var source v1alpha1.ApplicationSource
	if err := yaml.UnmarshalStrict([]byte(app.Source), &source); err != nil {
		return nil, err
	}
	source.Path = app.Path
	request := &apiclient.ManifestRequest{
		Repo:                            &v1alpha1.Repository{Repo: "https://git.example.com/platform.git"},
		AppName:                         app.Name,
		Namespace:                       "demo",
		ApplicationSource:               &source,
		KubeVersion:                     app.KubeVersion,
		AnnotationManifestGeneratePaths: app.GeneratePaths,
	}
	// The repo-server waits for its archive to be written, to unlock the checkout.
	written := make(chan bool, 1)
	res, err := repository.GenerateManifests(ctx, filepath.Join(app.Root, app.Path), app.Root, "0123456789", request, false, nil,
		resource.MustParse("0"), utilio.NewRandomizedTempPaths(app.Root),
		repository.WithCMPTarDoneChannel(written), repository.WithCMPUseManifestGeneratePaths(app.GeneratePaths != "" && !app.SendsAll))
	return res.GetManifests(), err
}

func (argoCD) SourceType(ctx context.Context, app suite.Application) (string, error) {
	var source v1alpha1.ApplicationSource
	if err := yaml.UnmarshalStrict([]byte(app.Source), &source); err != nil {
		return "", err
	}
	kind, err := repository.GetAppSourceType(ctx, &source, filepath.Join(app.Root, app.Path), app.Root, app.Name, nil, nil, nil)
	return string(kind), err
}

func (argoCD) ReadConfig(dir string) (suite.Config, error) {
	config, err := plugin.ReadPluginConfig(dir)
	if err != nil {
		return suite.Config{}, err
	}
	return suite.Config{
		Socket:     config.Address(),
		Generate:   append(config.Spec.Generate.Command, config.Spec.Generate.Args...),
		Match:      suite.Configuration{Discovery: config.Spec.Discover.IsDefined(), GitCreds: config.Spec.ProvideGitCreds},
		Parameters: parameters(config.Spec.Parameters.Static),
	}, nil
}

func (argoCD) Dial(socket string) (suite.Plugin, error) {
	conn, client, err := pluginclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	return connection{conn, client}, err
}

// connection calls a plugin as the repo-server does: streams are not retried.
type connection struct {
	io.Closer
	client pluginclient.ConfigManagementPluginServiceClient
}

func (c connection) CheckPluginConfiguration(ctx context.Context) (suite.Configuration, error) {
	res, err := c.client.CheckPluginConfiguration(ctx, &emptypb.Empty{})
	return suite.Configuration{Discovery: res.GetIsDiscoveryConfigured(), GitCreds: res.GetProvideGitCreds()}, err
}

func (c connection) MatchRepository(ctx context.Context, repo suite.Repository) (suite.Match, error) {
	stream, err := c.client.MatchRepository(ctx, grpc_retry.Disable())
	if err != nil {
		return suite.Match{}, err
	}
	if err := send(ctx, stream, repo); err != nil {
		return suite.Match{}, err
	}
	res, err := stream.CloseAndRecv()
	return suite.Match{Supported: res.GetIsSupported(), Discovery: res.GetIsDiscoveryEnabled()}, err
}

func (c connection) GetParametersAnnouncement(ctx context.Context, repo suite.Repository) ([]suite.Parameter, error) {
	stream, err := c.client.GetParametersAnnouncement(ctx, grpc_retry.Disable())
	if err != nil {
		return nil, err
	}
	if err := send(ctx, stream, repo); err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	return parameters(res.GetParameterAnnouncements()), err
}

func (c connection) GenerateManifest(ctx context.Context, repo suite.Repository) ([]string, error) {
	stream, err := c.client.GenerateManifest(ctx, grpc_retry.Disable())
	if err != nil {
		return nil, err
	}
	if err := send(ctx, stream, repo); err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	return res.GetManifests(), err
}

// send streams a repository.
func send(ctx context.Context, stream cmp.StreamSender, repo suite.Repository) error {
	return cmp.SendRepoStream(ctx, filepath.Join(repo.Root, repo.Path), repo.Root, &sender{StreamSender: stream, repo: repo}, repo.Env, nil)
}

// sender does to the messages what the case asks for.
type sender struct {
	cmp.StreamSender
	repo suite.Repository
	sent int
}

func (s *sender) Send(message *pluginclient.AppStreamRequest) error {
	if metadata := message.GetMetadata(); metadata != nil && s.repo.Checksum != "" {
		metadata.Checksum = s.repo.Checksum
	}
	if s.repo.Sending != nil {
		s.repo.Sending(s.sent)
	}
	s.sent++
	return s.StreamSender.Send(message)
}

func parameters(all []*apiclient.ParameterAnnouncement) []suite.Parameter {
	var got []suite.Parameter
	for _, p := range all {
		got = append(got, suite.Parameter{
			Name: p.GetName(), Title: p.GetTitle(), Tooltip: p.GetTooltip(), ItemType: p.GetItemType(), CollectionType: p.GetCollectionType(),
			Required: p.GetRequired(), String: p.GetString_(), Array: p.GetArray(), Map: p.GetMap(),
		})
	}
	return got
}
