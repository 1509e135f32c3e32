package check

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// deployment finds one of production's by name.
func deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	for _, d := range of[appsv1.Deployment](build(t, "prod")) {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no Deployment %s", name)
	return nil
}

// mounts are the volumes of a pod's container by the directory where it sees them.
func mounts(pod corev1.PodSpec) map[string]corev1.Volume {
	found := map[string]corev1.Volume{}
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name == m.Name {
				found[m.MountPath] = v
			}
		}
	}
	return found
}

// TestSigner: one process of a user and an account of its own, which reads its seed from files and has nothing of the
// services' but a directory for its socket; the workers that share it stand on its machine and can write to the socket,
// and no other pod has a treasury, the socket or the seed. That it has no network is TestNetwork's.
func TestSigner(t *testing.T) {
	signer, sweep := deployment(t, "signer"), deployment(t, "wallets-sweep")
	pod, other := signer.Spec.Template.Spec, sweep.Spec.Template.Spec
	if *signer.Spec.Replicas != 1 || signer.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Error("two signers may run at a time")
	}
	if pod.ServiceAccountName != "signer" || len(pod.Containers[0].Ports) > 0 || len(pod.Containers[0].Env) > 0 {
		t.Error("the signer shares its account, has a port or a setting beside its ConfigMap")
	}
	for name, probe := range map[string]*corev1.Probe{"startup": pod.Containers[0].StartupProbe, "liveness": pod.Containers[0].LivenessProbe, "readiness": pod.Containers[0].ReadinessProbe} {
		if probe == nil || probe.Exec == nil || !slices.Equal(probe.Exec.Command, []string{"/app", "health"}) {
			t.Errorf("no %s probe", name)
		}
	}
	group := *pod.SecurityContext.FSGroup
	if *pod.SecurityContext.RunAsUser == *other.SecurityContext.RunAsUser || !slices.Contains(other.SecurityContext.SupplementalGroups, group) {
		t.Error("signer and sweepers are the same user, or share no group")
	}
	near := other.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(near) != 1 || near[0].TopologyKey != "kubernetes.io/hostname" || near[0].LabelSelector.MatchLabels["app.kubernetes.io/name"] != "signer" {
		t.Error("sweepers may stand elsewhere than the signer")
	}
	files, settings := mounts(pod), given(t, build(t, "prod"))
	for _, config := range of[corev1.ConfigMap](build(t, "prod")) {
		if !strings.HasPrefix(config.Name, "signer-") && !strings.HasPrefix(config.Name, "wallets-sweep-") {
			continue
		}
		for name, file := range config.Data {
			volume, ok := files[path.Dir(file)]
			if !ok {
				t.Errorf("%s=%s is in no volume", name, file)
			}
			if volume.Secret != nil && !slices.Contains(settings["Secret/"+volume.Secret.SecretName], path.Base(file)) {
				t.Errorf("%s=%s is not in Secret %s", name, file, volume.Secret.SecretName)
			}
			if wants := name == "SIGNER_SEED" || name == "SIGNER_IDENTITY_FILE" || name == "SIGNER_POLICY"; wants != (volume.Secret != nil) {
				t.Errorf("%s=%s is of the wrong kind of volume", name, file)
			}
			if wants := name == "SIGNER_SOCKET" || name == "SIGNER_LOG"; wants != (volume.PersistentVolumeClaim != nil) {
				t.Errorf("%s=%s is of the wrong kind of volume", name, file)
			}
		}
	}
	if files["/etc/signer"].Secret.SecretName == files["/etc/signer-identity"].Secret.SecretName {
		t.Error("the seed and what opens it are one Secret")
	}
	for _, w := range workloads(build(t, "prod")) {
		set := variables(t, w, settings)
		treasury := slices.ContainsFunc(set, func(name string) bool { return strings.HasSuffix(name, "_SWEEP_TREASURY") })
		socket := slices.ContainsFunc(slices.Collect(maps.Values(mounts(w.pod.Spec))), func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "signer-socket"
		})
		if treasury != (w.name == "wallets-sweep") || socket != (w.name == "wallets-sweep" || w.name == "signer") {
			t.Errorf("%s: treasury %t, socket %t", w, treasury, socket)
		}
		for _, v := range w.pod.Spec.Volumes {
			if v.Secret != nil && strings.HasPrefix(v.Secret.SecretName, "signer") && w.name != "signer" {
				t.Errorf("%s reads the Secret %s", w, v.Secret.SecretName)
			}
		}
	}
}

// TestCompose_signer: off unless asked for, without a network, and its socket is all that it shares, with wallets
// alone.
func TestCompose_signer(t *testing.T) {
	if _, on := compose(t).Services["signer"]; on {
		t.Error("test mode needs no signer")
	}
	project, tables := compose(t, "custody"), documented(t)
	signer := project.Services["signer"]
	if signer.NetworkMode != "none" || len(signer.Ports) > 0 || signer.User == project.Services["wallets"].User {
		t.Error("the signer has a network or another's user")
	}
	if signer.HealthCheck == nil || !slices.Equal(signer.HealthCheck.Test, []string{"CMD", "/app", "health"}) {
		t.Error("the signer is not asked for its health")
	}
	under := map[string]types.ServiceVolumeConfig{}
	for _, v := range signer.Volumes {
		under[v.Target] = v
	}
	for name, value := range signer.Environment {
		if _, ok := tables["signer"][name]; !ok {
			t.Errorf("%s is not a setting", name)
		}
		if _, ok := under[filepath.Dir(*value)]; !ok && strings.HasPrefix(*value, "/") {
			t.Errorf("%s=%s is in no volume", name, *value)
		}
	}
	for name, service := range project.Services {
		for _, v := range service.Volumes {
			shared := v.Source == under["/run/signer"].Source
			if v.Source == under["/custody"].Source && name != "signer" || shared && name != "signer" && name != "wallets" {
				t.Errorf("%s mounts the signer's %s", name, v.Source)
			}
		}
	}
	if file, err := os.ReadFile(filepath.Join(root, ".gitignore")); err != nil || !strings.Contains(string(file), "\n/.custody/\n") {
		t.Errorf("a seed could be committed: %v", err)
	}
}
