package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The objects of Kubernetes, as far as the manifest uses them: the fields have the
// names and types of its API v1 and apps/v1. Others are refused, so that a field
// that the API server would ignore or refuse is found here.
type (
	meta struct {
		Name, Namespace string
		Labels          map[string]string
		Annotations     map[string]string
	}

	namespaceObject struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
	}

	configMap struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
		Data       map[string]string
	}

	service struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
		Spec       struct {
			ClusterIP string `yaml:"clusterIP"`
			Selector  map[string]string
			Ports     []struct {
				Name       string
				Port       int
				TargetPort string `yaml:"targetPort"`
			}
		}
	}

	daemonSet struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
		Spec       struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			Template struct {
				Metadata meta
				Spec     pod
			}
		}
	}

	pod struct {
		HostNetwork                   bool              `yaml:"hostNetwork"`
		DNSPolicy                     string            `yaml:"dnsPolicy"`
		NodeSelector                  map[string]string `yaml:"nodeSelector"`
		AutomountServiceAccountToken  *bool             `yaml:"automountServiceAccountToken"`
		TerminationGracePeriodSeconds int               `yaml:"terminationGracePeriodSeconds"`
		Containers                    []container
		Volumes                       []volume
	}

	container struct {
		Name, Image string
		Command     []string
		Env         []struct {
			Name, Value string
			ValueFrom   *struct {
				FieldRef struct {
					FieldPath string `yaml:"fieldPath"`
				} `yaml:"fieldRef"`
				SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		StartupProbe    probe `yaml:"startupProbe"`
		LivenessProbe   probe `yaml:"livenessProbe"`
		ReadinessProbe  probe `yaml:"readinessProbe"`
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct{ Privileged bool } `yaml:"securityContext"`
		Mounts          []struct {
			Name             string
			MountPath        string `yaml:"mountPath"`
			ReadOnly         bool   `yaml:"readOnly"`
			MountPropagation string `yaml:"mountPropagation"`
		} `yaml:"volumeMounts"`
	}

	probe struct {
		HTTPGet          struct{ Host, Port, Path string } `yaml:"httpGet"`
		PeriodSeconds    int                               `yaml:"periodSeconds"`
		TimeoutSeconds   int                               `yaml:"timeoutSeconds"`
		FailureThreshold int                               `yaml:"failureThreshold"`
	}

	volume struct {
		Name      string
		ConfigMap *struct{ Name string }       `yaml:"configMap"`
		HostPath  *struct{ Path, Type string } `yaml:"hostPath"`
		EmptyDir  *struct {
			Medium    string
			SizeLimit string `yaml:"sizeLimit"`
		} `yaml:"emptyDir"`
	}
)

// strictly decodes one object; a field that it does not have is an error.
func strictly(text string, into any) error {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		return err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one object: %v", err)
	}
	return nil
}

func read(t *testing.T) (c configMap, d daemonSet) {
	t.Helper()
	c, _, d = objects(t)
	return c, d
}

func objects(t *testing.T) (c configMap, s service, d daemonSet) {
	t.Helper()
	text, err := os.ReadFile("kubernetes/vpp-agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Split(string(text), "\n---\n")
	if len(objects) != 4 {
		t.Fatalf("%d objects, want 4", len(objects))
	}
	var n namespaceObject
	if err := errors.Join(strictly(objects[0], &n), strictly(objects[1], &c), strictly(objects[2], &s), strictly(objects[3], &d)); err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		got, want string
		meta      meta
	}{
		{n.APIVersion + " " + n.Kind, "v1 Namespace", n.Metadata},
		{c.APIVersion + " " + c.Kind, "v1 ConfigMap", c.Metadata},
		{s.APIVersion + " " + s.Kind, "v1 Service", s.Metadata},
		{d.APIVersion + " " + d.Kind, "apps/v1 DaemonSet", d.Metadata},
	} {
		if o.got != o.want || o.meta.Name != "vpp-agent" || o.meta.Namespace != "vpp-agent" && o.want != "v1 Namespace" {
			t.Errorf("%s %+v, want %s", o.got, o.meta, o.want)
		}
	}
	return c, s, d
}

// Fields that Kubernetes does not have are found.
func TestManifestIsStrict(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/vpp-agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"hostNetwork", "httpGet", "containerPort", "matchLabels", "hostPath", "volumeMounts", "fieldRef"} {
		bad := bytes.Replace(text, []byte(field+":"), []byte(field+"s:"), 1)
		objects := strings.Split(string(bad), "\n---\n")
		if err := strictly(objects[3], new(daemonSet)); err == nil || !strings.Contains(err.Error(), field+"s") {
			t.Errorf("%ss: %v", field, err)
		}
	}
}

// Values are those that Kubernetes takes.
func TestKubernetesValues(t *testing.T) {
	t.Parallel()
	configMap, daemonSet := read(t)
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`) // RFC 1123
	quantity := regexp.MustCompile(`^\d+(\.\d+)?(m|Ki|Mi|Gi)?$`)
	file := regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
	pod := daemonSet.Spec.Template.Spec
	size := 0
	for name, text := range configMap.Data {
		if size += len(text); !file.MatchString(name) {
			t.Errorf("ConfigMap: key %q", name)
		}
	}
	if size > 1<<20 {
		t.Errorf("the ConfigMap has %d bytes", size)
	}
	if pod.DNSPolicy != "ClusterFirstWithHostNet" || len(pod.Containers) != 1 {
		t.Errorf("dnsPolicy %q with the network of the node, %d containers", pod.DNSPolicy, len(pod.Containers))
	}
	for _, v := range pod.Volumes {
		kinds := 0
		for _, is := range []bool{v.ConfigMap != nil, v.HostPath != nil, v.EmptyDir != nil} {
			if is {
				kinds++
			}
		}
		if !label.MatchString(v.Name) || kinds != 1 {
			t.Errorf("volume %q: %d kinds", v.Name, kinds)
		}
		if h := v.HostPath; h != nil && (!strings.HasPrefix(h.Path, "/") || h.Type != "DirectoryOrCreate") {
			t.Errorf("volume %q: %+v", v.Name, h)
		}
		if e := v.EmptyDir; e != nil && (e.Medium != "Memory" || !quantity.MatchString(e.SizeLimit)) {
			t.Errorf("volume %q: %+v", v.Name, e)
		}
	}
	c := pod.Containers[0]
	if !label.MatchString(c.Name) || c.Image == "" {
		t.Errorf("container %q, image %q", c.Name, c.Image)
	}
	for _, m := range c.Mounts {
		if !slices.Contains([]string{"", "None", "HostToContainer", "Bidirectional"}, m.MountPropagation) || m.MountPropagation == "Bidirectional" && !c.SecurityContext.Privileged {
			t.Errorf("mount %s: propagation %q", m.Name, m.MountPropagation)
		}
	}
	for _, resources := range []map[string]string{c.Resources.Requests, c.Resources.Limits} {
		for name, value := range resources {
			if name != "cpu" && name != "memory" || !quantity.MatchString(value) {
				t.Errorf("resource %s: %s", name, value)
			}
		}
	}
	for _, e := range c.Env {
		from := e.ValueFrom
		if e.Value != "" || from == nil || (from.FieldRef.FieldPath != "spec.nodeName") == (from.SecretKeyRef.Name != "vpp-agent" || from.SecretKeyRef.Key == "") {
			t.Errorf("env %s: value %q, from %+v", e.Name, e.Value, e.ValueFrom)
		}
	}
}
