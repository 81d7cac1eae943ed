package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ApplicationKind is the kind of Applications.
var ApplicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// Source is where the manifests of an Application come from.
type Source struct {
	RepoURL, Path string
	// Plugin is true if Ladder renders them; otherwise they are plain YAML.
	Plugin bool
	// Parameters are those of the plugin that are strings, and Set its parameter
	// of that name.
	Parameters, Set map[string]string
}

// Application is what a case deploys.
type Application struct {
	Name, Namespace string
	Sources         []Source
	SyncOptions     []string
	// Prune lets syncs remove what is no longer in the repository.
	Prune bool
	// SelfHeal lets Argo CD sync by itself, and undo what others change in the cluster.
	SelfHeal bool
	// Retry is how often Argo CD retries a failed sync.
	Retry int
	// KeepBackoff keeps Argo CD's own backoff, which starts at 10 seconds and doubles each
	// time. Otherwise, it starts at one second.
	KeepBackoff bool
	// CompareOptions say how Argo CD compares the Application with the cluster, such as
	// ServerSideDiff=true.
	CompareOptions string
}

// Manifest returns the object, with a finalizer so that Argo CD deletes what it
// deployed along with it.
func (a Application) Manifest(server string) *unstructured.Unstructured {
	spec := map[string]any{
		"project":     "default",
		"destination": map[string]any{"server": server, "namespace": a.Namespace},
		"syncPolicy":  map[string]any{"syncOptions": texts(a.SyncOptions)},
	}
	if a.SelfHeal {
		spec["syncPolicy"].(map[string]any)["automated"] = map[string]any{"selfHeal": true}
	}
	if len(a.Sources) == 1 {
		spec["source"] = a.Sources[0].spec()
	} else {
		var sources []any
		for _, s := range a.Sources {
			sources = append(sources, s.spec())
		}
		spec["sources"] = sources
	}
	app := object("argoproj.io/v1alpha1", "Application", Namespace, a.Name, nil, map[string]any{"spec": spec})
	app.SetFinalizers([]string{"resources-finalizer.argocd.argoproj.io"})
	if a.CompareOptions != "" {
		app.SetAnnotations(map[string]string{"argocd.argoproj.io/compare-options": a.CompareOptions})
	}
	return app
}

func (s Source) spec() map[string]any {
	spec := map[string]any{"repoURL": s.RepoURL, "path": s.Path, "targetRevision": "HEAD"}
	if !s.Plugin {
		spec["directory"] = map[string]any{"recurse": true}
		return spec
	}
	plugin := map[string]any{"name": "ladder"}
	var parameters []any
	for name, value := range s.Parameters {
		parameters = append(parameters, map[string]any{"name": name, "string": value})
	}
	slices.SortFunc(parameters, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
	if len(s.Set) > 0 {
		set := map[string]any{}
		for key, value := range s.Set {
			set[key] = value
		}
		parameters = append(parameters, map[string]any{"name": "set", "map": set})
	}
	if parameters != nil {
		plugin["parameters"] = parameters
	}
	spec["plugin"] = plugin
	return spec
}

// Status is what Argo CD reports about an Application.
type Status struct {
	Sync struct {
		Status   string `json:"status"`
		Revision string `json:"revision"`
	} `json:"sync"`
	Health struct {
		Status string `json:"status"`
	} `json:"health"`
	OperationState *Operation  `json:"operationState"`
	Resources      []Resource  `json:"resources"`
	Conditions     []Condition `json:"conditions"`
}

// Operation is a sync, running or done.
type Operation struct {
	Phase      string    `json:"phase"`
	Message    string    `json:"message"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	RetryCount int       `json:"retryCount"`
	SyncResult struct {
		Resources []Task `json:"resources"`
	} `json:"syncResult"`
}

// Running reports whether the sync is still running.
func (o *Operation) Running() bool {
	return o != nil && (o.Phase == "Running" || o.Phase == "Terminating")
}

// Waiting reports whether an attempt has failed and the next one has not begun. Only then
// does Argo CD set the end of a sync that is running, and counts the next attempt.
func (o *Operation) Waiting() bool {
	return o != nil && o.Phase == "Running" && !o.FinishedAt.IsZero()
}

// Task is what became of one object in a sync.
type Task struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Message   string `json:"message"`
	HookPhase string `json:"hookPhase"`
}

func (t Task) failed() bool {
	return t.Status == "SyncFailed" || t.HookPhase == "Failed" || t.HookPhase == "Error"
}

// Resource is an object of the Application.
type Resource struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Hook      bool   `json:"hook"`
	Health    *struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
}

// String names a resource as Argo CD does in its messages.
func (r Resource) String() string {
	parts := []string{r.Group, r.Kind, r.Namespace, r.Name}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}

// Condition is a fault of the Application itself.
type Condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Status reads an Application. It returns the API server's error if the
// Application does not exist.
func (a *ArgoCD) Status(ctx context.Context, name string) (Status, error) {
	var s Status
	app, err := a.kube.Get(ctx, ApplicationKind, Namespace, name)
	if err != nil {
		return s, err
	}
	status, _, err := unstructured.NestedMap(app.Object, "status")
	if err != nil || status == nil {
		return s, err
	}
	return s, runtime.DefaultUnstructuredConverter.FromUnstructured(status, &s)
}

// Deploy creates an Application, or replaces its specification, and waits until
// Argo CD has looked at it. Nothing is synced.
func (a *ArgoCD) Deploy(ctx context.Context, app Application) error {
	if err := a.kube.Apply(ctx, app.Manifest(a.server.URL)); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		s, err := a.Status(ctx, app.Name)
		return s.Sync.Status != "", err
	})
}

// Sync starts a sync of an Application to the newest revision of its sources,
// as a person does in the user interface.
func (a *ArgoCD) Sync(ctx context.Context, app Application) error {
	sync := map[string]any{"prune": app.Prune, "syncOptions": texts(app.SyncOptions)}
	operation := map[string]any{"initiatedBy": map[string]any{"username": "e2e"}, "sync": sync}
	if app.Retry > 0 {
		retry := map[string]any{"limit": app.Retry}
		if !app.KeepBackoff {
			retry["backoff"] = map[string]any{"duration": "1s", "factor": 2, "maxDuration": "10s"}
		}
		operation["retry"] = retry
	}
	patch, err := json.Marshal(map[string]any{
		"metadata":  map[string]any{"annotations": map[string]any{"argocd.argoproj.io/refresh": "hard"}},
		"operation": operation,
	})
	if err != nil {
		return err
	}
	return a.kube.Merge(ctx, ApplicationKind, Namespace, app.Name, string(patch))
}

// Terminate ends the running sync of an Application, as a person does in the user
// interface, and waits until it has ended.
func (a *ArgoCD) Terminate(ctx context.Context, name string) error {
	return poll(ctx, func() (bool, error) {
		app, err := a.kube.Get(ctx, ApplicationKind, Namespace, name)
		if err != nil {
			return true, err
		}
		phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
		if phase != "Running" {
			return phase != "Terminating", nil
		}
		// Of what the controller has ended in between, this would make an operation that nobody continues.
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"operationState":{"phase":"Terminating"}}}`, app.GetResourceVersion())
		if err = a.kube.Merge(ctx, ApplicationKind, Namespace, name, patch); errors.IsConflict(err) {
			err = nil
		}
		return false, err
	})
}

// Refresh makes Argo CD compare an Application again, and waits until it has done so.
func (a *ArgoCD) Refresh(ctx context.Context, name string) error {
	const refresh = "argocd.argoproj.io/refresh"
	if err := a.kube.Merge(ctx, ApplicationKind, Namespace, name, `{"metadata":{"annotations":{"`+refresh+`":"hard"}}}`); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		app, err := a.kube.Get(ctx, ApplicationKind, Namespace, name)
		if err != nil {
			return false, err
		}
		return app.GetAnnotations()[refresh] == "", nil
	})
}

// Delete deletes an Application, and with it what it deployed. It returns at
// once.
func (a *ArgoCD) Delete(ctx context.Context, name string) error {
	return a.kube.Delete(ctx, ApplicationKind, Namespace, name)
}

// Abandon removes an Application and leaves what it deployed.
func (a *ArgoCD) Abandon(ctx context.Context, name string) error {
	err := a.kube.Merge(ctx, ApplicationKind, Namespace, name, `{"metadata":{"finalizers":null}}`)
	if err == nil {
		err = a.kube.Delete(ctx, ApplicationKind, Namespace, name)
	}
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}

// Gone reports whether the Application no longer exists.
func (a *ArgoCD) Gone(ctx context.Context, name string) (bool, error) {
	_, err := a.Status(ctx, name)
	if errors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// pause is the interval at which poll checks its condition.
const pause = 200 * time.Millisecond

// poll checks a condition until it is true, it fails, or the context ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func texts(all []string) []any {
	list := make([]any, len(all))
	for i, s := range all {
		list[i] = s
	}
	return list
}

// Describe summarizes what Argo CD reports about an Application, to help find out why a
// sync does not end: its message, what is not healthy, what is not applied.
func (s Status) Describe() string {
	var b strings.Builder
	if op := s.OperationState; op != nil {
		fmt.Fprintf(&b, "sync %s: %s\n", op.Phase, op.Message)
		for _, t := range op.SyncResult.Resources {
			if t.failed() {
				fmt.Fprintf(&b, "  failed: %s %s/%s: %s\n", t.Kind, t.Namespace, t.Name, t.Message)
			}
		}
	} else {
		b.WriteString("no sync was started\n")
	}
	fmt.Fprintf(&b, "application is %s and %s\n", s.Sync.Status, s.Health.Status)
	for _, r := range s.Resources {
		switch {
		case r.Health != nil && r.Health.Status != "Healthy":
			fmt.Fprintf(&b, "  %s is %s: %s\n", r, r.Health.Status, r.Health.Message)
		case r.Status != "Synced" && !r.Hook:
			fmt.Fprintf(&b, "  %s is %s\n", r, r.Status)
		}
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "  %s: %s\n", c.Type, c.Message)
	}
	return b.String()
}
