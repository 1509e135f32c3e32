package check

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestPods: every pod fits the restricted Pod Security Standard, is bounded, has a version, and names its ports.
func TestPods(t *testing.T) {
	for _, overlay := range overlays {
		for _, w := range workloads(build(t, overlay)) {
			pod := w.pod.Spec
			if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s %s: a token of the cluster is mounted", overlay, w)
			}
			s := pod.SecurityContext
			if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
				s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s %s: the pod is not restricted", overlay, w)
			}
			if pod.HostNetwork || pod.HostPID || pod.HostIPC {
				t.Errorf("%s %s: the pod shares the host's", overlay, w)
			}
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				for _, problem := range problems(c, w.ours()) {
					t.Errorf("%s: a container of %s: %s", overlay, w, problem)
				}
			}
		}
	}
}

func problems(c corev1.Container, ours bool) []string {
	var all []string
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if c.Resources.Limits[resource] == (corev1.ResourceList{})[resource] || c.Resources.Requests[resource] == (corev1.ResourceList{})[resource] {
			all = append(all, c.Name+" has no request or limit of "+string(resource))
		}
	}
	image, tag, tagged := cutLast(c.Image, ":")
	if !tagged || tag == "latest" || image == "" {
		all = append(all, c.Name+" runs no fixed version: "+c.Image)
	}
	for _, p := range c.Ports {
		if p.Name == "" {
			all = append(all, c.Name+" has a port without a name")
		}
	}
	s := c.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		all = append(all, c.Name+" may gain privileges")
	}
	if ours && (s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem) {
		all = append(all, c.Name+" may write to its root")
	}
	for _, e := range c.Env {
		if ours && e.Value != "" {
			all = append(all, c.Name+" has a setting beside its ConfigMap: "+e.Name)
		}
	}
	return all
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// TestRoles: every role is probed, spread, and drained in the time that it has; a rollout never takes one away before
// another is ready.
func TestRoles(t *testing.T) {
	for _, overlay := range overlays {
		all := build(t, overlay)
		for _, d := range of[appsv1.Deployment](all) {
			if d.Spec.Template.Labels["app.kubernetes.io/part-of"] != "causeway" {
				continue
			}
			pod := d.Spec.Template.Spec
			c := pod.Containers[0]
			for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
				if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != "ops" {
					t.Errorf("%s %s: no %s probe on the port of operations", overlay, d.Name, name)
				}
			}
			if len(pod.TopologySpreadConstraints) < 2 {
				t.Errorf("%s %s: pods are not spread over machines and zones", overlay, d.Name)
			}
			if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 25 || c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
				t.Errorf("%s %s: no time to drain", overlay, d.Name)
			}
			if idle(d) {
				continue
			}
			if u := d.Spec.Strategy.RollingUpdate; u == nil || u.MaxUnavailable.IntValue() != 0 {
				t.Errorf("%s %s: a rollout may take pods away first", overlay, d.Name)
			}
			if !budgeted(all, d.Spec.Template.Labels) {
				t.Errorf("%s %s: no PodDisruptionBudget", overlay, d.Name)
			}
			if overlay == "prod" && !scaled(t, all, d) {
				t.Errorf("%s: neither scaled nor two replicas", d.Name)
			}
		}
		for _, a := range of[corev1.ServiceAccount](all) {
			if a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
				t.Errorf("%s: account %s hands out tokens", overlay, a.Name)
			}
		}
	}
}

// idle says that an operator starts the pods, for a time.
func idle(d *appsv1.Deployment) bool { return d.Spec.Replicas != nil && *d.Spec.Replicas == 0 }

func budgeted(all []manifest, of1 map[string]string) bool {
	return slices.ContainsFunc(of[policyv1.PodDisruptionBudget](all), func(b *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return err == nil && selector.Matches(labels.Set(of1))
	})
}

// TestSpread: pods are spread among those of their own role. No key is in both the selector and matchLabelKeys: the
// server takes such a Deployment and refuses each of its pods.
func TestSpread(t *testing.T) {
	checked := 0
	for _, overlay := range overlays {
		for _, w := range workloads(build(t, overlay)) {
			for _, spread := range w.pod.Spec.TopologySpreadConstraints {
				checked++
				selector, err := metav1.LabelSelectorAsSelector(spread.LabelSelector)
				if err != nil || !selector.Matches(labels.Set(w.pod.Labels)) {
					t.Errorf("%s %s: the pods are not spread among themselves: %v", overlay, w, err)
					continue
				}
				for _, key := range spread.MatchLabelKeys {
					if requirements, _ := selector.Requirements(); slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() == key }) {
						t.Errorf("%s %s: %s is in labelSelector and in matchLabelKeys", overlay, w, key)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no pod is spread")
	}
}

// scaled says that something keeps at least two of it, and that its name is right.
func scaled(t *testing.T, all []manifest, d *appsv1.Deployment) bool {
	t.Helper()
	for _, h := range of[autoscalingv2.HorizontalPodAutoscaler](all) {
		if h.Spec.ScaleTargetRef.Name == d.Name && h.Spec.MinReplicas != nil && *h.Spec.MinReplicas >= 2 {
			return true
		}
	}
	for _, m := range all {
		if m.Kind == "ScaledObject" && m.field(t, "spec.scaleTargetRef.name") == d.Name {
			least, _ := m.field(t, "spec.minReplicaCount").(float64)
			return least >= 2
		}
	}
	return d.Spec.Replicas != nil && *d.Spec.Replicas >= 2
}

// TestServices: what a Service points at exists, by label and by port.
func TestServices(t *testing.T) {
	for _, overlay := range overlays {
		all := build(t, overlay)
		for _, s := range of[corev1.Service](all) {
			found := false
			for _, w := range workloads(all) {
				if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(w.pod.Labels)) {
					continue
				}
				for _, port := range s.Spec.Ports {
					if port.Name == "" {
						t.Errorf("%s %s: a port without a name", overlay, s.Name)
					}
					found = found || slices.ContainsFunc(w.pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal })
				}
			}
			if !found {
				t.Errorf("%s: Service %s points at nothing", overlay, s.Name)
			}
		}
	}
}
