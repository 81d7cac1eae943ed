package main

import (
	"context"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
)

// TestHardening puts deploy/hardening on top of deploy/kustomize: the Pod has what it
// promises, the container keeps what it had, and the policy lets nobody reach an
// address inside.
func TestHardening(t *testing.T) {
	found := 0
	for _, o := range deployed(t, "kustomize", "hardening") {
		switch o.ID.Kind {
		case "Deployment":
			var d appsv1.Deployment
			decode(t, o.Text(), &d)
			hardened(t, d.Spec.Template.Spec)
			found++
		case "NetworkPolicy":
			var p networkingv1.NetworkPolicy
			decode(t, o.Text(), &p)
			closed(t, p)
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d of a Deployment and a NetworkPolicy", found)
	}
}

// TestFetchingIsDeployed puts deploy/fetching on top of deploy/kustomize: the cache is a
// volume on disk that the server may write to, and the limit of memory is the sum of
// docs/operations.md.
func TestFetchingIsDeployed(t *testing.T) {
	plain, fetching := ladderOf(t, deployed(t, "kustomize")), ladderOf(t, deployed(t, "kustomize", "fetching"))
	env := map[string]string{}
	for _, e := range fetching.container.Env {
		env[e.Name] = e.Value
	}
	if env["LADDER_SERVE_ALLOW_REMOTE"] == "" {
		t.Error("nothing may be fetched")
	}
	at := slices.IndexFunc(fetching.container.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.MountPath == env["LADDER_SERVE_REMOTE_CACHE"] && !m.ReadOnly
	})
	if at < 0 {
		t.Fatalf("no volume is mounted at %q", env["LADDER_SERVE_REMOTE_CACHE"])
	}
	volume := slices.IndexFunc(fetching.pod.Volumes, func(v corev1.Volume) bool {
		return v.Name == fetching.container.VolumeMounts[at].Name && v.EmptyDir != nil && v.EmptyDir.Medium == "" && v.EmptyDir.SizeLimit != nil
	})
	if volume < 0 {
		t.Error("the cache is not on disk, or has no limit")
	}
	want := plain.container.Resources.Limits.Memory().Value() + fetch.DefaultConcurrent*fetch.DefaultMemory
	if limit := fetching.container.Resources.Limits.Memory().Value(); limit != want {
		t.Errorf("the container may have %d MiB, want %d", limit>>20, want>>20)
	}
	if len(fetching.container.VolumeMounts) != len(plain.container.VolumeMounts)+1 || fetching.container.SecurityContext == nil {
		t.Error("the container has lost what it had")
	}
}

// TestSeedIsDeployed puts deploy/seed on top of deploy/kustomize: the container has the seed
// of a Secret that must be there, and no other container has it.
func TestSeedIsDeployed(t *testing.T) {
	plain, seeded := ladderOf(t, deployed(t, "kustomize")), ladderOf(t, deployed(t, "kustomize", "seed"))
	at := slices.IndexFunc(seeded.container.Env, func(e corev1.EnvVar) bool { return e.Name == flags.SeedVariable })
	if at < 0 {
		t.Fatalf("the container has no %s", flags.SeedVariable)
	}
	file := seeded.container.Env[at].Value
	mount := slices.IndexFunc(seeded.container.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.MountPath == path.Dir(file) && m.ReadOnly
	})
	if mount < 0 {
		t.Fatalf("no volume is mounted at %s", path.Dir(file))
	}
	name := seeded.container.VolumeMounts[mount].Name
	volume := slices.IndexFunc(seeded.pod.Volumes, func(v corev1.Volume) bool {
		return v.Name == name && v.Secret != nil && v.Secret.SecretName == "ladder-seed" && v.Secret.Optional == nil
	})
	if volume < 0 {
		t.Error("the volume is not the Secret ladder-seed, or may be missing")
	}
	for _, c := range append(seeded.pod.Containers, seeded.pod.InitContainers...) {
		if c.Name != seeded.container.Name && slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name }) {
			t.Errorf("the container %s has the seed, too", c.Name)
		}
	}
	if len(seeded.container.VolumeMounts) != len(plain.container.VolumeMounts)+1 || seeded.container.SecurityContext == nil {
		t.Error("the container has lost what it had")
	}
}

// ladderInPod is the sidecar in the repo-server's Pod.
type ladderInPod struct {
	pod       corev1.PodSpec
	container corev1.Container
}

func ladderOf(t *testing.T, objects []object.Object) ladderInPod {
	t.Helper()
	for _, o := range objects {
		if o.ID.Kind != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		decode(t, o.Text(), &d)
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "ladder" {
				return ladderInPod{d.Spec.Template.Spec, c}
			}
		}
	}
	t.Fatal("there is no container ladder")
	return ladderInPod{}
}

// deployed is what components of deploy/ make of an Argo CD.
func deployed(t *testing.T, components ...string) []object.Object {
	t.Helper()
	repo := t.TempDir()
	for _, name := range components {
		if err := os.CopyFS(filepath.Join(repo, name), os.DirFS("../../deploy/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"kustomization.yaml": "resources: [argocd.yaml]\ncomponents: [" + strings.Join(components, ", ") + "]\n",
		"argocd.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: [{name: argocd-repo-server, image: argocd}], volumes: [{name: plugins, emptyDir: {}}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
---
apiVersion: v1
kind: Service
metadata: {name: argocd-repo-server}
spec: {ports: [{port: 8081}], selector: {app.kubernetes.io/name: argocd-repo-server}}
`,
	} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res, err := render.Dir(context.Background(), os.DirFS(repo), ".", render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Objects
}

// TestIndependent puts deploy/independent on top of deploy/kustomize: the Service sends
// requests to Pods that are not ready, and nothing else changes.
func TestIndependent(t *testing.T) {
	plain := map[object.ID]string{}
	for _, o := range deployed(t, "kustomize") {
		plain[o.ID] = o.Text()
	}
	for _, o := range deployed(t, "kustomize", "independent") {
		if o.ID.Kind != "Service" {
			if o.Text() != plain[o.ID] {
				t.Errorf("%s changes", o.ID)
			}
			continue
		}
		var with, without corev1.Service
		decode(t, o.Text(), &with)
		decode(t, plain[o.ID], &without)
		if !with.Spec.PublishNotReadyAddresses || without.Spec.PublishNotReadyAddresses {
			t.Errorf("the Service is\n%s", o.Text())
		}
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func hardened(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	if pod.HostUsers == nil || *pod.HostUsers {
		t.Error("the Pod has the users of the node")
	}
	for _, c := range pod.Containers {
		if c.Name != "ladder" {
			continue
		}
		s := c.SecurityContext
		if s.AppArmorProfile == nil || s.AppArmorProfile.Type != corev1.AppArmorProfileTypeRuntimeDefault {
			t.Error("the container has no AppArmor profile")
		}
		if s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || s.ReadOnlyRootFilesystem == nil {
			t.Errorf("the container has lost what it had: %v", s)
		}
		return
	}
	t.Error("there is no container ladder")
}

// closed makes sure that no rule lets the Pod connect to addresses that cmp serve
// refuses to fetch from (docs/sources.md), by whatever name.
func closed(t *testing.T, p networkingv1.NetworkPolicy) {
	t.Helper()
	lets := func(address string) bool {
		at := netip.MustParseAddr(address)
		for _, rule := range p.Spec.Egress {
			for _, to := range rule.To {
				if to.IPBlock == nil || !netip.MustParsePrefix(to.IPBlock.CIDR).Contains(at) {
					continue
				}
				open := true
				for _, except := range to.IPBlock.Except {
					open = open && !netip.MustParsePrefix(except).Contains(at)
				}
				if open {
					return true
				}
			}
		}
		return false
	}
	for _, inside := range []string{"127.0.0.1", "10.96.0.1", "172.31.0.2", "192.168.1.1", "100.100.100.200", "169.254.169.254", "::1",
		"fd00:ec2::254", "fe80::1"} {
		if lets(inside) {
			t.Errorf("%s can be reached", inside)
		}
	}
	for _, outside := range []string{"140.82.121.4", "2606:50c0:8000::153"} {
		if !lets(outside) {
			t.Errorf("%s cannot be reached", outside)
		}
	}
}
