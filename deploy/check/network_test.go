package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// peer is an end of a connection: a pod here, a pod of another namespace, or an address.
type peer struct {
	name      string
	pod       labels.Set
	namespace string     // "" is ours
	address   netip.Addr // set for an address
	ports     map[string]int32
}

func elsewhere(namespace string, pod labels.Set) peer {
	return peer{name: namespace, pod: pod, namespace: namespace}
}

func outside(address string) peer {
	return peer{name: address, address: netip.MustParseAddr(address)}
}

// allowed evaluates the policies as the network does: both ends must agree, and an end that no policy selects agrees to
// everything. Only pods of our namespace have policies.
func allowed(t *testing.T, policies []*networkingv1.NetworkPolicy, from, to peer, port int32) bool {
	t.Helper()
	return agrees(t, policies, networkingv1.PolicyTypeEgress, from, to, port) && agrees(t, policies, networkingv1.PolicyTypeIngress, from, to, port)
}

// agrees evaluates the policies of one end: the sender's for egress, the receiver's for ingress.
func agrees(t *testing.T, policies []*networkingv1.NetworkPolicy, direction networkingv1.PolicyType, from, to peer, port int32) bool {
	t.Helper()
	self, other := from, to
	if direction == networkingv1.PolicyTypeIngress {
		self, other = to, from
	}
	if self.namespace != "" || self.address.IsValid() {
		return true
	}
	selected := false
	for _, p := range policies {
		if !slices.Contains(p.Spec.PolicyTypes, direction) || !selects(t, &p.Spec.PodSelector, self.pod) {
			continue
		}
		selected = true
		if direction == networkingv1.PolicyTypeEgress {
			for _, rule := range p.Spec.Egress {
				if anyPeer(t, rule.To, other) && anyPort(rule.Ports, port, to.ports) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Ingress {
			if anyPeer(t, rule.From, other) && anyPort(rule.Ports, port, to.ports) {
				return true
			}
		}
	}
	return !selected
}

func selects(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}

func anyPeer(t *testing.T, peers []networkingv1.NetworkPolicyPeer, other peer) bool {
	t.Helper()
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			return other.address.IsValid() && inBlock(p.IPBlock, other.address)
		}
		if other.address.IsValid() {
			return false
		}
		if p.NamespaceSelector == nil {
			return other.namespace == "" && selects(t, p.PodSelector, other.pod)
		}
		name := labels.Set{"kubernetes.io/metadata.name": other.namespace}
		return other.namespace != "" && selects(t, p.NamespaceSelector, name) && (p.PodSelector == nil || selects(t, p.PodSelector, other.pod))
	})
}

func inBlock(b *networkingv1.IPBlock, address netip.Addr) bool {
	return netip.MustParsePrefix(b.CIDR).Contains(address) &&
		!slices.ContainsFunc(b.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(address) })
}

func anyPort(ports []networkingv1.NetworkPolicyPort, port int32, names map[string]int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Port.Type == intstr.String {
			return names[p.Port.StrVal] == port
		}
		return p.Port.IntVal == port
	})
}

// TestIngress_logsNoPath: a path may hold the reference of a gift, for which the gift is paid.
func TestIngress_logsNoPath(t *testing.T) {
	found := of[networkingv1.Ingress](build(t, "prod"))
	if len(found) == 0 {
		t.Fatal("no ingress")
	}
	for _, ingress := range found {
		if ingress.Annotations["nginx.ingress.kubernetes.io/enable-access-log"] != "false" {
			t.Errorf("%s writes an access log", ingress.Name)
		}
	}
}

// TestNetwork takes every pair of ends and every port in use, and allows exactly the edges of the design: the ingress
// controller calls the gateway, the gateway calls the services, the consoles call the gateway and a mail server,
// workers use the broker, everybody its database, names, the trace collector and Prometheus; the dispatcher, the
// scanners and those who speak with providers reach out, and nobody reaches a special network. The signer has no edge
// at all.
func TestNetwork(t *testing.T) {
	all := build(t, "prod")
	policies := of[networkingv1.NetworkPolicy](all)
	var ours []peer
	for _, w := range workloads(all) {
		if w.ours() {
			ours = append(ours, peer{name: w.name, pod: w.pod.Labels, ports: portsOf(w.pod.Spec)})
		}
	}
	servers := []peer{
		{name: "postgres", pod: labels.Set{"causeway/server": "postgres"}},
		{name: "rabbitmq", pod: labels.Set{"causeway/server": "rabbitmq"}},
		{name: "otel-collector", pod: labels.Set{"app.kubernetes.io/name": "otel-collector"}},
	}
	others := []peer{
		elsewhere("ingress-nginx", nil), elsewhere("monitoring", nil), elsewhere("kube-system", labels.Set{"k8s-app": "kube-dns"}), elsewhere("default", nil),
		outside("8.8.8.8"), outside("2606:4700::1111"), outside("10.0.0.9"), outside("169.254.169.254"), outside("127.0.0.1"), outside("fd00::1"),
	}
	ports := []int32{53, 80, 443, 465, 587, 4317, 4318, 5432, 5671, 5672, 8080, 8443, 9090, 15671, 15672}
	for _, from := range slices.Concat(ours, others) {
		for _, to := range slices.Concat(ours, servers, others) {
			if from.name == to.name || !slices.ContainsFunc(ours, func(p peer) bool { return p.name == from.name || p.name == to.name }) {
				continue
			}
			for _, port := range ports {
				want := designed(from, to, port)
				if got := allowed(t, policies, from, to, port); got != want {
					t.Errorf("%s to %s port %d: allowed %t, the design says %t", from.name, to.name, port, got, want)
				}
			}
		}
	}
}

func portsOf(pod corev1.PodSpec) map[string]int32 {
	ports := map[string]int32{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	return ports
}

// designed is docs/architecture.md#the-picture in code.
func designed(from, to peer, port int32) bool {
	role := func(p peer) string { return p.pod["app.kubernetes.io/component"] }
	service := func(p peer) string { return p.pod["app.kubernetes.io/name"] }
	works := slices.Contains([]string{"work", "sweep", "archive"}, role(from))
	mine := from.pod["app.kubernetes.io/part-of"] == "causeway"
	theirs := to.pod["app.kubernetes.io/part-of"] == "causeway"
	public := to.address.IsValid() && (to.name == "8.8.8.8" || to.name == "2606:4700::1111")
	switch {
	case from.name == "ingress-nginx":
		return to.name == "gateway" && port == 8080
	case from.name == "monitoring":
		return theirs && port == 9090
	case !mine:
		return false
	case to.name == "kube-system":
		return port == 53
	case to.name == "postgres":
		return port == 5432
	case to.name == "rabbitmq":
		return port == 5671 && works
	case to.name == "otel-collector":
		return port == 4318
	case theirs && strings.HasPrefix(from.name, "console"):
		return role(from) == "serve" && to.name == "gateway" && port == 8080
	case theirs:
		return from.name == "gateway" && role(to) == "serve" && to.name != "gateway" && port == 8080
	case public && service(from) == "callback-dispatcher":
		return role(from) != "migrate"
	case public && strings.HasPrefix(service(from), "console"): // mail
		return role(from) == "serve" && (port == 465 || port == 587)
	case public && service(from) == "wallets":
		return works && port == 443
	case public && service(from) == "payments":
		return role(from) != "migrate" && port == 443
	}
	return false
}

// TestQueues: what scales a worker is a queue that the worker reads.
func TestQueues(t *testing.T) {
	for _, m := range build(t, "prod") {
		if m.Kind != "ScaledObject" {
			continue
		}
		triggers, _ := m.field(t, "spec.triggers").([]any)
		if len(triggers) == 0 {
			t.Errorf("%s has no trigger", m)
		}
		for _, trigger := range triggers {
			queue := fmt.Sprint(trigger.(map[string]any)["metadata"].(map[string]any)["queueName"])
			if !slices.Contains(queues(t), queue) {
				t.Errorf("%s waits for %s, which nobody declares", m, queue)
			}
		}
	}
}
