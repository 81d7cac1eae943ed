package why_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// later is how much later cmp why looks: all that is normal for a while no longer is.
const later = 10 * time.Minute

// patience is how long Argo CD and the node have until a sync has come to where it stays.
const patience = 20 * time.Minute

// TestWhy lets many Applications hang, fail and succeed at the same time, and asks cmp why for each.
// The first line must name the cause, and no line a wrong suspect. Of those that succeed, it is
// asked all the time until they have, and nobody may be blamed.
func TestWhy(t *testing.T) {
	begin := time.Now()
	all := readSituations(t)
	l := openLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group sync.WaitGroup
	started := make([]chan struct{}, len(all))
	for i, s := range all {
		started[i] = make(chan struct{})
		group.Go(func() { l.play(ctx, t, s, started[i]) })
	}
	defer group.Wait()
	defer cancel()
	t.Logf("the lab is open after %s", time.Since(begin).Round(time.Second))
	last := l.follow(ctx, t, all, started)
	t.Logf("all are where they stay after %s", time.Since(begin).Round(time.Second))
	suspects, bad := 0, 0
	then := l.openWindow(t, later)
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			said, err := l.ask(t.Context(), then, s.ask) // the same, when all others are there
			if err != nil {
				t.Fatal(err)
			}
			l.note(t, s.name, said)
			if s.good != "" { // and those that go well still do when they have lasted
				for _, said := range []answer{last[i], said} {
					if s.good == "healthy" && said.code != 0 || s.good == "slow" && said.code != 3 {
						t.Errorf("exit code %d, want it to be %s:\n%s", said.code, s.good, said.text)
					}
				}
				return
			}
			bad++
			if len(s.never) >= 3 {
				suspects++
			}
			if wrong := s.wrong(said); wrong != "" {
				t.Errorf("%s\nArgo CD: %s", wrong, l.about(t, s.name))
			}
		})
	}
	if good := len(all) - bad; bad < 30 || suspects < 10 || good < 20 {
		t.Errorf("%d hang or fail, %d with wrong suspects; %d do not; want 30, 10 and 20", bad, suspects, good)
	}
}

// follow asks about all situations in turn, until each is where it stays, and returns the last answers.
func (l *lab) follow(ctx context.Context, t *testing.T, all []*situation, started []chan struct{}) []answer {
	t.Helper()
	then, now := l.openWindow(t, later), l.openWindow(t, 0)
	last := make([]answer, len(all))
	done := make([]bool, len(all))
	for goOn := true; goOn && ctx.Err() == nil; {
		goOn = false
		for i, s := range all {
			select {
			case <-started[i]:
			default:
				goOn = true
				continue
			}
			if done[i] {
				continue
			}
			goOn = goOn || s.good != "slow"
			w := then
			if s.good != "" {
				w = now
			}
			said, err := l.ask(ctx, w, s.ask)
			if err != nil {
				break
			}
			last[i] = said
			switch {
			case s.good == "":
				if done[i] = s.wrong(said) == ""; done[i] {
					t.Logf("%s hangs", s.name)
				}
			case said.code == 1:
				t.Errorf("%s: somebody is blamed:\n%s", s.name, said.text)
				done[i] = true
			default:
				done[i] = said.code == 0
			}
		}
		pause(ctx, time.Second)
	}
	return last
}

// wrong says what is wrong with an answer; empty if nothing is.
func (s *situation) wrong(said answer) string {
	headline, _, _ := strings.Cut(said.text, "\n")
	var all []string
	for _, want := range s.first {
		if !strings.Contains(headline, want) {
			all = append(all, fmt.Sprintf("the first line does not say %q", want))
		}
	}
	for _, want := range s.says {
		if !strings.Contains(said.text, want) {
			all = append(all, fmt.Sprintf("no line says %q", want))
		}
	}
	for _, wrong := range s.never {
		if strings.Contains(said.text, wrong) {
			all = append(all, fmt.Sprintf("%q is blamed", wrong))
		}
	}
	if said.code != 1 || len(s.first) == 0 {
		all = append(all, fmt.Sprintf("exit code %d, %d texts to expect", said.code, len(s.first)))
	}
	if said.requests > 200 {
		all = append(all, fmt.Sprintf("%d requests", said.requests))
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n" + said.text
}

// note keeps an answer in the directory of the run.
func (l *lab) note(t *testing.T, name string, said answer) {
	t.Helper()
	err := os.WriteFile(filepath.Join(l.dir, name+".txt"),
		fmt.Appendf(nil, "%sexit code %d, %d requests\n", said.text, said.code, said.requests), 0o644)
	if err != nil {
		t.Error(err)
	}
}

// about is what Argo CD reports.
func (l *lab) about(t *testing.T, name string) string {
	t.Helper()
	s, err := l.argo.Status(t.Context(), name)
	if err != nil {
		return err.Error()
	}
	return s.Describe()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// play brings a situation about. It says when cmp why can be asked.
func (l *lab) play(ctx context.Context, t *testing.T, s *situation, started chan struct{}) {
	if err := l.stage(ctx, t, s, started); err != nil && ctx.Err() == nil {
		t.Errorf("%s: %v", s.name, err)
	}
}

func (l *lab) stage(ctx context.Context, t *testing.T, s *situation, started chan struct{}) error {
	repo, err := l.argo.NewRepository(ctx, s.name)
	if err != nil {
		return err
	}
	if err := s.settle(l.node.URL, repo.URL()); err != nil {
		return err
	}
	if _, err := repo.Commit(ctx, s.files("app")); err != nil {
		return err
	}
	namespace, err := parse("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + s.name + "}\n")
	if err != nil {
		return err
	}
	if err := l.apply(ctx, append(namespace, s.objects(t, "world")...)); err != nil {
		return err
	}
	if err := l.delete(ctx, s.before); err != nil {
		return err
	}
	if s.wait != "" {
		if err := soon(ctx, func() error { return l.runs(ctx, s.name, s.wait) }); err != nil {
			return err
		}
	}
	app := argocd.Application{Name: s.name, Namespace: s.name, Sources: []argocd.Source{{RepoURL: repo.URL(), Path: "app"}},
		Retry: s.retry, Prune: true}
	if err := l.create(ctx, app, s); err != nil {
		return err
	}
	if s.unasked {
		close(started)
		return nil
	}
	if err := l.looked(ctx, app.Name); err != nil {
		return err
	}
	if err := l.argo.Sync(ctx, app); err != nil {
		return err
	}
	if s.sections["play"] != "" {
		if err := l.write(ctx, t, s); err != nil {
			return err
		}
	}
	if s.next == "" && s.gone == nil {
		close(started)
		return nil
	}
	return l.goOn(ctx, s, app, repo, started)
}

// goOn makes the second step of a situation.
func (l *lab) goOn(ctx context.Context, s *situation, app argocd.Application, repo *argocd.Repository, started chan struct{}) error {
	want := "Succeeded"
	if s.next == "running" || s.next == "terminate" {
		want = "Running"
	}
	if err := soon(ctx, func() error {
		status, err := l.argo.Status(ctx, s.name)
		if err != nil {
			return err
		}
		if op := status.OperationState; op == nil || op.Phase != want || op.Message == "" {
			return fmt.Errorf("the first sync is %+v, not %s", op, want)
		}
		return nil
	}); err != nil {
		return err
	}
	defer close(started)
	if s.next == "terminate" {
		return l.argo.Terminate(ctx, s.name)
	}
	if err := l.delete(ctx, s.gone); err != nil || s.next == "" {
		return err
	}
	if _, err := repo.Commit(ctx, s.files("next")); err != nil {
		return err
	}
	if s.next == "running" {
		return l.argo.Refresh(ctx, s.name)
	}
	return l.argo.Sync(ctx, app)
}

// create creates the Application of a situation.
func (l *lab) create(ctx context.Context, app argocd.Application, s *situation) error {
	obj := app.Manifest(l.node.URL)
	if err := s.application(obj); err != nil {
		return err
	}
	return l.argo.Kube().Apply(ctx, obj)
}

// looked waits until Argo CD has looked at an Application.
func (l *lab) looked(ctx context.Context, app string) error {
	return soon(ctx, func() error {
		status, err := l.argo.Status(ctx, app)
		if err == nil && status.Sync.Status == "" && len(status.Conditions) == 0 {
			err = fmt.Errorf("Argo CD has not looked at it")
		}
		return err
	})
}

// runs returns an error unless a Deployment is available.
func (l *lab) runs(ctx context.Context, namespace, name string) error {
	obj, err := l.argo.Kube().Get(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, namespace, name)
	if err != nil {
		return err
	}
	if n, _, _ := unstructured.NestedInt64(obj.Object, "status", "availableReplicas"); n == 0 {
		return fmt.Errorf("Deployment %s/%s is not available", namespace, name)
	}
	return nil
}

// write writes what other programs say in objects, once these exist.
func (l *lab) write(ctx context.Context, t *testing.T, s *situation) error {
	for _, obj := range s.objects(t, "play") {
		if err := soon(ctx, func() error {
			_, err := l.argo.Kube().Get(ctx, obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
			if err == nil {
				err = l.argo.Kube().Apply(ctx, obj)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes objects, which may take as long as it likes.
func (l *lab) delete(ctx context.Context, refs []string) error {
	for _, ref := range refs {
		words := strings.Fields(ref)
		namespace, name, ok := strings.Cut(words[2], "/")
		if !ok {
			namespace, name = "", words[2]
		}
		err := l.argo.Kube().Delete(ctx, schema.FromAPIVersionAndKind(words[0], words[1]), namespace, name)
		if err != nil && !errors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
