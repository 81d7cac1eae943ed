package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// unobserved finds workloads whose controller has not seen the latest change.
func unobserved(s *scene, o object.Object) []Cause {
	generation, observed := number(o.Get("metadata", "generation"), 0), number(o.Get("status", "observedGeneration"), 0)
	if observed >= generation || s.created(o) < briefly || isTerminating(o) {
		return nil
	}
	for _, f := range []string{"Progressing", "Available"} {
		if s.age(conditionOf(o, f).since) < briefly && conditionOf(o, f).kind != "" {
			return nil
		}
	}
	return []Cause{{Rule: "controller-down", Text: "is not looked at by its controller",
		Proof: fmt.Sprintf("%s: generation %d, observedGeneration %d", o.ID, generation, observed), Evidence: Appearance,
		Fix: "see whether kube-controller-manager runs", Command: "kubectl get pods -n kube-system"}}
}

// oldRevision finds a Pod of an earlier template that cannot start. A StatefulSet that orders its Pods
// goes on only when it is ready, so that a corrected template never reaches it (Kubernetes documents
// this as forced rollback).
func oldRevision(s *scene, o object.Object) []Cause {
	update := o.Get("status", "updateRevision").Text()
	if update == "" || o.Get("spec", "podManagementPolicy").Text() == "Parallel" {
		return nil
	}
	for _, pod := range s.parts(o) {
		revision := pod.Label("controller-revision-hash")
		if pod.ID.Kind != "Pod" || revision == "" || revision == update || isTerminating(pod) {
			continue
		}
		for _, c := range podContainers(s, pod) {
			return []Cause{{Rule: oldRevisionRule,
				Text: fmt.Sprintf("does not replace Pod %s, which is still of the old revision %s and %s", pod.ID.Name, revision,
					c.Text), Evidence: Refusal, IsYoung: c.IsYoung,
				Proof: c.Proof + ", status.updateRevision: " + update,
				Fix:   "delete the Pod, which comes back with the present template", Command: kubectl("delete", pod.ID)}}
		}
	}
	return nil
}

const oldRevisionRule = "old-revision"

// job looks at the conditions of a Job (kubernetes/api, batch/v1/types.go).
func job(s *scene, o object.Object) []Cause {
	if o.Get("spec", "suspend").True() {
		cause := Cause{Rule: "suspended", Text: "is suspended, so it never completes", Proof: "spec.suspend: true",
			Evidence: Refusal, Fix: "set spec.suspend to false", Command: kubectl("get", o.ID, "-o yaml")}
		for _, part := range s.owned(o, "") {
			if s.isCustom(part.ID) { // such as a Workload of Kueue, whose controller starts the Job
				cause.Because, cause.Evidence, cause.Fix, cause.Command = part.ID, Condition,
					"see why "+part.ID.String()+" does not start it", kubectl("describe", part.ID)
			}
		}
		return []Cause{cause}
	}
	for _, kind := range []string{"Failed", "FailureTarget"} {
		c := conditionOf(o, kind)
		if c.status != "True" {
			continue
		}
		cause := understand("job", c.reason+" "+c.message, o,
			Cause{Rule: "job-failed", Proof: said("condition "+kind+":", c.reason, c.message), Evidence: Condition,
				Fix: "read the log of its Pods, correct what it reports, and sync again", Command: kubectl("logs", o.ID)})
		if len(s.owned(o, "Pod")) > 0 {
			return []Cause{cause}
		}
		cause.Command = kubectl("describe", o.ID) // there is no log
		for _, e := range s.eventsOf(o.ID, "SuccessfulCreate") {
			pod := object.ID{Kind: "Pod", Namespace: o.ID.Namespace, Name: strings.TrimPrefix(e.message, "Created pod: ")}
			for _, e := range s.eventsOf(pod) {
				proof := said("Pod "+pod.Name+":", e.reason, e.message)
				if missing, ok := missingIn(e.message, pod.Namespace); ok {
					cause = lacks(missing, proof, Event)
				} else if e.kind == "Warning" {
					cause.Text, cause.Proof = cause.Text+"; its Pod, which is gone: "+e.message, proof
				} else {
					continue
				}
				return []Cause{cause}
			}
		}
		return []Cause{cause}
	}
	return nil
}

// volumeClaim finds out why a PVC is not bound. An Event says it, and the StorageClass.
func volumeClaim(s *scene, o object.Object) []Cause {
	phase := o.Get("status", "phase").Text()
	if phase == "Bound" || phase == "Lost" || isTerminating(o) {
		return nil
	}
	young := s.created(o) < briefly
	class := object.ID{Group: storageGroup, Kind: "StorageClass", Name: o.Get("spec", "storageClassName").Text()}
	cause := Cause{Rule: "volume", Evidence: Event, IsYoung: young, Command: kubectl("describe", o.ID)}
	if events := s.eventsOf(o.ID, "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "WaitForFirstConsumer",
		"WaitForPodScheduled"); len(events) > 0 {
		e := events[0]
		cause.Proof = said(o.ID.String()+":", e.reason, e.message)
		cause = understand("claim", e.reason+" "+e.message, o, cause)
		missing, ok := missingIn(e.message, o.ID.Namespace)
		switch {
		case ok:
			cause = lacks(missing, cause.Proof, Event)
			cause.IsYoung = young
		case e.reason == "WaitForFirstConsumer":
			return s.firstConsumer(o, cause)
		case e.reason == "WaitForPodScheduled":
			return nil // the Pod says why
		case e.reason == "ExternalProvisioning":
			cause.IsYoung = s.created(o) < aWhile
		}
		return []Cause{cause}
	}
	for _, id := range []object.ID{class, {Kind: "PersistentVolume", Name: o.Get("spec", "volumeName").Text()}} {
		if id.Name != "" && s.isAbsent(id) {
			cause = lacks(id, o.ID.String()+" names it in its spec", Missing)
			cause.IsYoung = young
			return []Cause{cause}
		}
	}
	if o, ok := s.objects[class]; ok && o.Get("volumeBindingMode").Text() == "WaitForFirstConsumer" {
		cause.Proof, cause.Evidence = "StorageClass "+class.Name+": volumeBindingMode WaitForFirstConsumer", Condition
		return s.firstConsumer(o, cause)
	}
	cause.Text, cause.Proof, cause.Evidence, cause.Fix = "is not bound", "status.phase: "+phase, Appearance,
		"see whether the provisioner of its StorageClass runs"
	cause.IsYoung = s.created(o) < aWhile
	return []Cause{cause}
}

// firstConsumer is the cause of a PVC that is bound once a Pod uses it.
func (s *scene) firstConsumer(claim object.Object, cause Cause) []Cause {
	for _, id := range s.sorted {
		if id.Kind == "Pod" && id.Namespace == claim.ID.Namespace && mounts(s.objects[id], claim.ID.Name) {
			return nil // the Pod says why it is not scheduled
		}
	}
	cause.Rule, cause.Text = "wave-deadlock", "is bound only when a Pod uses it, and there is none"
	cause.Fix = "put the PVC and the object that uses it into one wave"
	if cause.Because = s.consumer(claim.ID); !cause.Because.IsZero() {
		cause.Text = "is bound only when a Pod of " + cause.Because.String() + " uses it"
	} else if later, wave, ok := s.laterWorkload(claim.ID.Namespace); ok {
		cause.Text += fmt.Sprintf("; probably %s uses it, which Argo CD applies only in wave %d", later, wave)
	}
	return []Cause{cause}
}

func mounts(pod object.Object, claim string) bool {
	return slices.ContainsFunc(pod.Get("spec", "volumes").Items(),
		func(v object.Value) bool { return v.Get("persistentVolumeClaim", "claimName").Text() == claim })
}

// loadBalancer finds out why a Service has no address.
func loadBalancer(s *scene, o object.Object) []Cause {
	if o.Get("spec", "type").Text() != "LoadBalancer" || len(o.Get("status", "loadBalancer", "ingress").Items()) > 0 {
		return s.withoutPods(o)
	}
	cause := Cause{Rule: "no-address", Text: "has no external address",
		Proof: "status.loadBalancer.ingress is empty, and there is no Event of a cloud controller", Evidence: Appearance,
		IsYoung: s.created(o) < aWhile, Fix: "install a controller for load balancers, or use another type", Command: kubectl("describe", o.ID)}
	if events := s.eventsOf(o.ID, "SyncLoadBalancerFailed", "AllocationFailed", "FailedDeployModel", "FailedBuildModel",
		"EnsuringLoadBalancer"); len(events) > 0 {
		e := events[0]
		cause.Proof, cause.Evidence = said(o.ID.String()+":", e.reason, e.message), Event
		cause = understand("balancer", e.reason+" "+e.message, o, cause)
		if e.reason == "EnsuringLoadBalancer" {
			cause.Evidence = Appearance
		} else {
			cause.IsYoung = s.created(o) < briefly
		}
	}
	return []Cause{cause}
}

// withoutPods finds a Service with a selector that no ready Pod matches. It is only asked if
// something needs the Service.
func (s *scene) withoutPods(o object.Object) []Cause {
	if len(o.Get("spec", "selector").Fields()) == 0 {
		return nil
	}
	var behind []object.ID
	for _, id := range s.sorted {
		if id.Kind == "Pod" && id.Namespace == o.ID.Namespace && s.objects[id].Get("status", "phase").Text() != failed &&
			selects(o, s.objects[id].Get("metadata", "labels")) {
			if conditionOf(s.objects[id], "Ready").status == "True" {
				return nil
			}
			behind = append(behind, id)
		}
	}
	cause := Cause{Rule: "no-endpoints", Text: "has no ready Pod", Proof: "no Pod matches its selector", Evidence: Appearance,
		Fix: "start the workload behind the Service, or correct spec.selector", Command: kubectl("describe", o.ID)}
	if len(behind) > 0 {
		cause.Text, cause.Proof, cause.Because = "has no ready Pod: "+behind[0].Name+" is not ready",
			behind[0].String()+" matches its selector", behind[0]
	} else if by := s.workloadBehind(o); !by.IsZero() {
		cause.Text, cause.Because = "has no ready Pod: "+by.String()+" runs none", by
		cause.Proof = by.String() + " has the labels of its selector"
	}
	return []Cause{cause}
}

// workloadBehind returns the workload whose Pods a Service selects.
func (s *scene) workloadBehind(service object.Object) object.ID {
	for _, id := range s.sorted {
		labels := s.objects[id].Get("spec", "template", "metadata", "labels")
		if id.Namespace == service.ID.Namespace && id.Kind != "ReplicaSet" && labels.Exists() && selects(service, labels) {
			return id
		}
	}
	return object.ID{}
}

// ingress finds out why an Ingress has no address.
func ingress(s *scene, o object.Object) []Cause {
	if len(o.Get("status", "loadBalancer", "ingress").Items()) > 0 {
		return nil
	}
	class := object.ID{Group: networkGroup, Kind: "IngressClass", Name: o.Get("spec", "ingressClassName").Text()}
	if class.Name != "" && s.isAbsent(class) {
		return []Cause{lacks(class, o.ID.String()+" names it in spec.ingressClassName", Missing)}
	}
	cause := Cause{Rule: "no-address", Text: "has no address: no controller has taken it up",
		Proof: "status.loadBalancer.ingress is empty", Evidence: Appearance, IsYoung: s.created(o) < aWhile,
		Fix: "let the controller publish its address, such as with its flag publish-service, or install one", Command: kubectl("describe", o.ID)}
	for _, e := range s.eventsOf(o.ID) {
		if e.kind == "Warning" {
			cause.Text, cause.Proof, cause.Evidence, cause.Fix = "has no address", said(o.ID.String()+":", e.reason, e.message),
				Event, "correct what the controller reports"
			break
		}
	}
	if class.Name == "" && !strings.Contains(o.Text(), "kubernetes.io/ingress.class") {
		cause.Text, cause.Fix = "has no address, and names no IngressClass", "set spec.ingressClassName, or mark an IngressClass as the default"
	}
	return []Cause{cause}
}
