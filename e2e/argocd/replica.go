package argocd

import "context"

// RestartPlugin ends the plugin server and starts one with an empty cache, with the
// seed in a file, or without a seed if it is empty.
func (a *ArgoCD) RestartPlugin(ctx context.Context, seed string) error {
	if err := a.end(a.plugin); err != nil {
		return err
	}
	return a.startPlugin(ctx, seed)
}

// AskReplica starts another repo-server with its own plugin server, and restarts the
// application-controller with it. back ends both and restores the first repo-server.
func (a *ArgoCD) AskReplica(ctx context.Context, seed string) (back func(context.Context) error, err error) {
	if err := a.servePlugin(ctx, "replica-plugins", seed); err != nil {
		return nil, err
	}
	plugin := a.last()
	address, err := a.serveRepositories(ctx, "replica.sock", "ARGOCD_PLUGINSOCKFILEPATH="+a.path("replica-plugins"),
		"TMPDIR="+a.path("replica-tmp"))
	if err != nil {
		return nil, err
	}
	repo, first := a.last(), a.repo
	back = func(ctx context.Context) error {
		if err := a.askAt(ctx, first); err != nil {
			return err
		}
		if err := a.end(repo); err != nil {
			return err
		}
		return a.end(plugin)
	}
	return back, a.askAt(ctx, address)
}

// askAt restarts the application-controller with another repo-server.
func (a *ArgoCD) askAt(ctx context.Context, repo string) error {
	if err := a.end(a.controller); err != nil {
		return err
	}
	a.repo = repo
	return a.startController(ctx)
}
