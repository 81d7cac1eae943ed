package node_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/node/provider"
)

// statefulSet runs hello serve as a StatefulSet of one Pod that keeps a file in a
// volume, behind a headless Service.
func statefulSet(ctx context.Context, t *testing.T, n rig, name string) {
	t.Helper()
	create(ctx, t, n.client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: labels(name),
			Ports: []corev1.ServicePort{{Name: "http", Port: 8080}}},
	})
	container := hello("serve", "/data/greeting")
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	create(ctx, t, n.client.AppsV1().StatefulSets("default").Create, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: name,
			Selector:    &metav1.LabelSelector{MatchLabels: labels(name)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(name)},
				Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: pvcSpec(""),
			}},
		},
	})
	eventually(ctx, t, func() error {
		s, err := n.client.AppsV1().StatefulSets("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && s.Status.AvailableReplicas != 1 {
			err = fmt.Errorf("StatefulSet %s is not available", name)
		}
		return err
	})
}

// pvcSpec asks for a volume of a class, or of the default class.
func pvcSpec(class string) corev1.PersistentVolumeClaimSpec {
	spec := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	if class != "" {
		spec.StorageClassName = &class
	}
	return spec
}

func namesResolve(ctx context.Context, t *testing.T, n rig) {
	statefulSet(ctx, t, n, "named")
	succeed(ctx, t, n, "resolve", "resolve", "kubernetes", "kubernetes.default", "kube-dns.kube-system.svc", "named.default.svc.cluster.local",
		"named-0.named", "named-0.named.default.svc.cluster.local", "_http._tcp.named.default.svc.cluster.local")
}

func volumesAreMade(ctx context.Context, t *testing.T, n rig) {
	pvcs := n.client.CoreV1().PersistentVolumeClaims("default")
	create(ctx, t, pvcs.Create, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Spec: pvcSpec(provider.Standard)})
	create(ctx, t, pvcs.Create,
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Spec: pvcSpec(provider.Immediate)})
	statefulSet(ctx, t, n, "keeper")
	eventually(ctx, t, func() error {
		pvc, err := pvcs.Get(ctx, "at-once", metav1.GetOptions{})
		if err == nil && pvc.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("a PVC of class %s is %s", provider.Immediate, pvc.Status.Phase)
		}
		return err
	})
	// It was there before the others, which are bound by now.
	if pvc, err := pvcs.Get(ctx, "waits", metav1.GetOptions{}); err != nil || pvc.Status.Phase != corev1.ClaimPending {
		t.Errorf("a PVC that no Pod mounts is %+v, %v", pvc.Status, err)
	}

	bound, err := pvcs.Get(ctx, "data-keeper-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pv, err := n.client.CoreV1().PersistentVolumes().Get(ctx, bound.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(pv.Spec.Local.Path, "greeting")); err != nil || string(text) != "hello" {
		t.Errorf("the file that the program wrote holds %q, %v", text, err)
	}
	if err := errors.Join(n.client.AppsV1().StatefulSets("default").Delete(ctx, "keeper", metav1.DeleteOptions{}),
		pvcs.Delete(ctx, bound.Name, metav1.DeleteOptions{})); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func() error {
		if _, err := os.Stat(pv.Spec.Local.Path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s stays after its PVC: %v", pv.Spec.Local.Path, err)
		}
		if _, err := n.client.CoreV1().PersistentVolumes().Get(ctx, pv.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("PV %s stays after its PVC: %v", pv.Name, err)
		}
		return nil
	})
}

func readsAreLogged(ctx context.Context, t *testing.T, n rig) {
	mark, err := n.Mark()
	if err != nil {
		t.Fatal(err)
	}
	succeed(ctx, t, n, "reads", "ask-api", "/api/v1/namespaces/default/secrets/wanted")
	filter := cluster.Filter{After: mark, Users: []string{"system:serviceaccount:default:default"}, Refused: true, Reads: true}
	events, err := n.Events(filter)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e cluster.Event) bool {
		return e.Verb == "get" && e.Resource == "secrets" && e.Name == "wanted" && e.Code == 403
	}) {
		t.Errorf("the audit log has no such read, but %v", events)
	}
	logs, err := n.Logs(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if strings.HasPrefix(log.Pod, "reads-") && strings.Contains(log.Text, "the API server answers 403") {
			return
		}
	}
	t.Errorf("no Pod has written what the API server answered: %v", logs)
}

// leftoversGo is run alone: it deletes what all others have made.
func leftoversGo(ctx context.Context, t *testing.T, n rig) {
	if err := n.Clean(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if pods, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d Pods stay, %v", len(pods.Items), err)
	}
	eventually(ctx, t, func() error {
		volumes, err := os.ReadDir(filepath.Join(n.Dir, "volumes"))
		if err == nil && len(volumes) > 0 {
			err = fmt.Errorf("%d volumes stay", len(volumes))
		}
		return err
	})
	// What the node is made of stays, so that the next case finds a whole one.
	deploy(ctx, t, n, "after")
	succeed(ctx, t, n, "resolve-after", "resolve", "kubernetes.default")
}

func imagesStay(ctx context.Context, t *testing.T, n rig) {
	create(ctx, t, n.client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	deploy(ctx, t, n, "again")
	log, err := os.ReadFile(filepath.Join(n.Dir, "images", "registry.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "GET") && strings.Contains(line, "/blobs/") {
			t.Errorf("an image is pulled again: %s", line)
		}
	}
	service, err := n.client.CoreV1().Services("default").Get(ctx, "waits", metav1.GetOptions{})
	if err != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("without load balancers a Service has %v, %v", service.Status.LoadBalancer, err)
	}
}
