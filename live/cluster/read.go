// Package cluster reads what package live wants to know from a cluster. It only gets and lists,
// and never asks for Secrets.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/object"
)

// Limits of one reading.
const (
	maxRequests = 150 // to the API server
	pageSize    = 500 // objects of a request
	maxPages    = 20  // requests of a list
	maxRounds   = 12  // answers that lead to further questions
	logLines    = 5
)

// Reader reads snapshots of a cluster.
type Reader struct {
	cluster cluster.Cluster
	base    *knowledge.Base
	client  rest.Interface
	// resources are the kinds that the API server serves, by group; without an entry, it was
	// not asked.
	resources map[string][]live.Kind
	// Requests counts what was asked.
	Requests int
}

// New returns a reader of a cluster. It asks nothing yet.
func New(c cluster.Cluster, base *knowledge.Base) (*Reader, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	config.QPS, config.Burst = -1, 0 // a handful of requests, one after the other
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, c.Fault(err)
	}
	return &Reader{cluster: c, base: base, client: client, resources: map[string][]live.Kind{}}, nil
}

// Read reads an Application and what is behind it. What the user may not read is a note of the
// snapshot, except the Application itself.
func (r *Reader) Read(ctx context.Context, app object.ID) (live.Snapshot, error) {
	snap := live.Snapshot{Now: time.Now().Unix(), Application: app, Logs: map[live.Container]string{}}
	tried := map[live.Want]bool{}
	r.Requests = 0
	for range maxRounds {
		more := slices.DeleteFunc(live.Next(snap, r.base), func(w live.Want) bool { return tried[w] })
		if len(more) == 0 {
			return snap, nil
		}
		for _, w := range more {
			tried[w] = true
			if r.Requests >= maxRequests {
				snap.Denied = append(snap.Denied, fmt.Sprintf("more objects: after %d requests", maxRequests))
				return snap, nil
			}
			if err := r.read(ctx, w, &snap); err != nil {
				return snap, err
			}
		}
		if len(snap.Objects) == 0 {
			return snap, r.unknown(ctx, app)
		}
	}
	return snap, nil
}

// application reads only the Application.
func (r *Reader) application(ctx context.Context, app object.ID) (live.Snapshot, error) {
	snap := live.Snapshot{Now: time.Now().Unix(), Application: app}
	if err := r.read(ctx, live.Want{ID: app}, &snap); err != nil {
		return snap, err
	}
	if len(snap.Objects) == 0 {
		return snap, r.unknown(ctx, app)
	}
	return snap, nil
}

// watchInterval is the time between two looks at a sync.
const watchInterval = 2 * time.Second

// Watch prints the positions of a sync until it ends.
func (r *Reader) Watch(ctx context.Context, app object.ID, printLine func(string) error) error {
	var w live.Watch
	for {
		snap, err := r.application(ctx, app)
		if err != nil {
			return err
		}
		lines, ended := w.See(snap)
		for _, line := range lines {
			if err := printLine(line); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchInterval):
		}
	}
}

// read reads one want into the snapshot.
func (r *Reader) read(ctx context.Context, w live.Want, snap *live.Snapshot) error {
	if w.Log != "" {
		return r.log(ctx, w, snap)
	}
	kind, found, err := r.kind(ctx, w.ID)
	if err == nil && found {
		err = r.objects(ctx, w, kind, snap)
	} else if err == nil && w.ID.Name != "" {
		snap.Absent = append(snap.Absent, w.ID)
	}
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		if w.ID.Name != "" && w.ID != snap.Application {
			snap.Absent = append(snap.Absent, w.ID)
		}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		if w.ID == snap.Application {
			return finding.Fault(fmt.Sprintf("this user may not get Applications in namespace %s", w.ID.Namespace),
				"grant it the ClusterRole in deploy/why, or choose another --context")
		}
		what := strings.TrimSuffix(strings.ToLower(w.ID.Kind+"s."+w.ID.Group), ".")
		if w.ID.Namespace != "" {
			what += " in namespace " + w.ID.Namespace
		}
		if note := what + ", which this user may not read"; !slices.Contains(snap.Denied, note) {
			snap.Denied = append(snap.Denied, note)
		}
	case errors.As(err, new(apierrors.APIStatus)):
		snap.Denied = append(snap.Denied, w.ID.String()+": "+err.Error()) // such as an API whose server is down
	default:
		return r.cluster.Fault(err)
	}
	return nil
}

// objects reads an object, or the pages of a list.
func (r *Reader) objects(ctx context.Context, w live.Want, kind live.Kind, snap *live.Snapshot) error {
	path := []string{"api", kind.Version}
	if kind.Group != "" {
		path = []string{"apis", kind.Group, kind.Version}
	}
	if w.ID.Namespace != "" {
		path = append(path, "namespaces", w.ID.Namespace)
	}
	path = append(path, kind.Resource)
	if w.ID.Name != "" {
		text, err := r.get(ctx, append(path, w.ID.Name), nil)
		if err != nil {
			return err
		}
		var item map[string]any
		if err := json.Unmarshal(text, &item); err != nil {
			return err
		}
		return add(snap, kind, item)
	}
	next := ""
	for range maxPages {
		text, err := r.get(ctx, path, map[string]string{"limit": fmt.Sprint(pageSize), "continue": next})
		if err != nil {
			return err
		}
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		for _, item := range list.Items {
			if err := add(snap, kind, item); err != nil {
				return err
			}
		}
		if next = list.Metadata.Continue; next == "" {
			return nil
		}
	}
	snap.Denied = append(snap.Denied, fmt.Sprintf("%s after the first %d", kind.Resource, maxPages*pageSize))
	return nil
}

// get sends a request.
func (r *Reader) get(ctx context.Context, path []string, params map[string]string) ([]byte, error) {
	r.Requests++
	request := r.client.Get().AbsPath(path...)
	for key, value := range params {
		if value != "" {
			request = request.Param(key, value)
		}
	}
	return request.Do(ctx).Raw()
}

// add adds an object to a snapshot, without what nobody reads. Items of a list have no kind.
func add(snap *live.Snapshot, kind live.Kind, item map[string]any) error {
	item["kind"], item["apiVersion"] = kind.Kind, strings.TrimPrefix(kind.Group+"/"+kind.Version, "/")
	live.Trim(item)
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	all, err := object.Parse("", 0, string(text))
	if err != nil {
		return err
	}
	snap.Objects = append(snap.Objects, all...)
	return nil
}

// kind returns the version and the resource of a kind; false if the API server does not serve it.
func (r *Reader) kind(ctx context.Context, id object.ID) (kind live.Kind, found bool, err error) {
	if kind, ok := live.KindOf(id.Group, id.Kind); ok {
		return kind, true, nil
	}
	all, asked := r.resources[id.Group]
	if !asked {
		if all, err = r.discover(ctx, id.Group); err != nil && !apierrors.IsNotFound(err) {
			return kind, false, err
		}
		r.resources[id.Group] = all
	}
	if i := slices.IndexFunc(all, func(k live.Kind) bool { return k.Kind == id.Kind }); i >= 0 {
		return all[i], true, nil
	}
	return kind, false, nil
}

// discover asks for the resources of a group.
func (r *Reader) discover(ctx context.Context, group string) (all []live.Kind, err error) {
	root, version := []string{"api"}, "v1"
	if group != "" {
		root = []string{"apis", group}
		text, err := r.get(ctx, root, nil)
		if err != nil {
			return nil, err
		}
		var found struct {
			Preferred struct {
				Version string `json:"version"`
			} `json:"preferredVersion"`
		}
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, err
		}
		version = found.Preferred.Version
	}
	text, err := r.get(ctx, append(root, version), nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Resources []struct {
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, one := range list.Resources {
		if !strings.Contains(one.Name, "/") {
			all = append(all, live.Kind{Group: group, Version: version, Kind: one.Kind, Resource: one.Name})
		}
	}
	return all, nil
}

// noLog begins what the kubelet answers, with 200 OK, if it has just removed the container.
const noLog = "unable to retrieve container logs for "

// log reads the last lines of a container: of its previous run if it crashed. Without the
// permission, the diagnosis names the command.
func (r *Reader) log(ctx context.Context, w live.Want, snap *live.Snapshot) error {
	path := []string{"api", "v1", "namespaces", w.ID.Namespace, "pods", w.ID.Name, "log"}
	for _, previous := range []string{"true", ""} {
		text, err := r.get(ctx, path, map[string]string{"container": w.Log, "tailLines": fmt.Sprint(logLines), "previous": previous})
		if err == nil && len(text) > 0 && !strings.HasPrefix(string(text), noLog) {
			snap.Logs[live.Container{Pod: w.ID, Name: w.Log}] = string(text)
			return nil
		}
		if apierrors.IsForbidden(err) {
			return nil
		}
	}
	return nil
}

// unknown says that there is no such Application, with similar names.
func (r *Reader) unknown(ctx context.Context, app object.ID) error {
	message := fmt.Sprintf("Application %s not found in namespace %s", app.Name, app.Namespace)
	kind, _ := live.KindOf(app.Group, app.Kind)
	var snap live.Snapshot
	if err := r.objects(ctx, live.Want{ID: object.ID{Group: app.Group, Kind: app.Kind}}, kind, &snap); err != nil {
		if apierrors.IsNotFound(err) {
			return finding.Fault("the cluster has no Applications: Argo CD is not installed there", "choose another --context")
		}
		_ = r.objects(ctx, live.Want{ID: object.ID{Group: app.Group, Kind: app.Kind, Namespace: app.Namespace}}, kind, &snap) // only suggests
	}
	return live.NoApplication(message, app, snap.Objects)
}
