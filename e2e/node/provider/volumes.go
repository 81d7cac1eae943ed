package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Classes of volumes.
const (
	Standard  = "standard"  // the default: a PVC waits until a Pod that mounts it is scheduled
	Immediate = "immediate" // a PVC is bound at once
)

const (
	provisioner = "ladder.example.com/directories"
	// Kubernetes's own annotations between its PV controller and provisioners.
	forProvisioner = "volume.kubernetes.io/storage-provisioner"
	provisionedBy  = "pv.kubernetes.io/provisioned-by"
)

type volumes struct {
	client kubernetes.Interface
	dir    string
	pvcs   corelisters.PersistentVolumeClaimLister
	pvs    corelisters.PersistentVolumeLister
}

// Volumes makes the StorageClasses [Standard] and [Immediate], and until ctx ends a
// directory in dir for each PVC of them that needs a volume. The directory goes with
// its PVC; everything else in dir is removed. Anyone may write to a volume, as on kind
// and k3s; sizes are not enforced, and block volumes are not made. Errors of single
// volumes go to log and are tried again.
func Volumes(ctx context.Context, config *rest.Config, dir string, log io.Writer) error {
	client, factory, err := connect(config)
	if err != nil {
		return err
	}
	if err := makeClasses(ctx, client); err != nil {
		return err
	}
	pvcs, pvs := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
	v := &volumes{client: client, dir: dir, pvcs: pvcs.Lister(), pvs: pvs.Lister()}
	return run(ctx, log, factory, []cache.SharedIndexInformer{pvcs.Informer(), pvs.Informer()}, v.reconcile)
}

func makeClasses(ctx context.Context, client kubernetes.Interface) error {
	for name, mode := range map[string]storagev1.VolumeBindingMode{
		Standard: storagev1.VolumeBindingWaitForFirstConsumer, Immediate: storagev1.VolumeBindingImmediate,
	} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
		if name == Standard {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making StorageClass %s: %w", name, err)
		}
	}
	return nil
}

func (v *volumes) reconcile(ctx context.Context) error {
	pvcs, err := v.pvcs.List(labels.Everything())
	if err != nil {
		return err
	}
	pvs, err := v.pvs.List(labels.Everything())
	if err != nil {
		return err
	}
	used := map[string]bool{}
	var faults []error
	for _, pvc := range pvcs {
		used[volumeName(pvc)] = true
		// The PV controller asks by the annotation when it is time: for a class that
		// waits, once the scheduler has chosen a node.
		if pvc.Annotations[forProvisioner] == provisioner && pvc.Spec.VolumeName == "" && pvc.DeletionTimestamp == nil {
			faults = append(faults, v.provision(ctx, pvc))
		}
	}
	for _, pv := range pvs {
		used[pv.Name] = true
		if pv.Annotations[provisionedBy] == provisioner && pv.Status.Phase == corev1.VolumeReleased &&
			pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			err := v.client.CoreV1().PersistentVolumes().Delete(ctx, pv.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				faults = append(faults, fmt.Errorf("removing PV %s: %w", pv.Name, err))
			}
		}
	}
	return errors.Join(append(faults, v.removeUnused(used))...)
}

// removeUnused removes the directories of volumes that are gone, whoever deleted them.
func (v *volumes) removeUnused(used map[string]bool) error {
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	var faults []error
	for _, entry := range entries {
		if !used[entry.Name()] {
			faults = append(faults, os.RemoveAll(filepath.Join(v.dir, entry.Name())))
		}
	}
	return errors.Join(faults...)
}

func volumeName(pvc *corev1.PersistentVolumeClaim) string { return "pvc-" + string(pvc.UID) }

func (v *volumes) provision(ctx context.Context, pvc *corev1.PersistentVolumeClaim) error {
	if mode := pvc.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		return nil
	}
	class, err := v.client.StorageV1().StorageClasses().Get(ctx, *pvc.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("PVC %s/%s: %w", pvc.Namespace, pvc.Name, err)
	}
	pv := v.volumeFor(pvc, class)
	if err := os.MkdirAll(pv.Spec.Local.Path, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(pv.Spec.Local.Path, 0o777); err != nil { // whatever the umask is
		return err
	}
	if _, err := v.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the volume of PVC %s/%s: %w", pvc.Namespace, pvc.Name, err)
	}
	return nil
}

func (v *volumes) volumeFor(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	name := volumeName(pvc)
	// A local volume, since the kubelet gives one to a Pod's fsGroup and a hostPath not.
	// It needs an affinity; all nodes share the directory.
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: pvc.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   pvc.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(v.dir, name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}},
			}}}},
		},
	}
}
