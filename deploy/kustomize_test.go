package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// kustomization has the fields that are used; others are refused.
type kustomization struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Namespace  string
	Resources  []string
	Images     []struct {
		Name    string
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	}
	Patches []struct{ Path string }
}

func readKustomization(t *testing.T, dir string) (k kustomization) {
	t.Helper()
	readYAML(t, filepath.Join(dir, "kustomization.yaml"), &k)
	if k.APIVersion != "kustomize.config.k8s.io/v1beta1" || k.Kind != "Kustomization" {
		t.Errorf("%s: %s %s", dir, k.APIVersion, k.Kind)
	}
	return k
}

// The base has the manifest, and the overlay changes objects and an image of it.
func TestKustomizations(t *testing.T) {
	t.Parallel()
	config, daemonSet := read(t)
	base, overlay := readKustomization(t, "kubernetes"), readKustomization(t, "kubernetes-overlay")
	if !slices.Equal(base.Resources, []string{"vpp-agent.yaml"}) || !slices.Equal(overlay.Resources, []string{"../kubernetes"}) {
		t.Errorf("resources %q and %q", base.Resources, overlay.Resources)
	}
	image, _, _ := strings.Cut(daemonSet.Spec.Template.Spec.Containers[0].Image, ":")
	if len(overlay.Images) != 1 || overlay.Images[0].Name != image || overlay.Images[0].NewTag == "" {
		t.Errorf("images %+v, the image of the base is %s", overlay.Images, image)
	}
	for _, p := range overlay.Patches {
		text, err := os.ReadFile(filepath.Join("kubernetes-overlay", p.Path))
		var o struct {
			Kind     string
			Metadata meta
		}
		if err == nil {
			err = yaml.Unmarshal(text, &o)
		}
		if err != nil || o.Kind != config.Kind && o.Kind != daemonSet.Kind || o.Metadata.Name != "vpp-agent" || o.Metadata.Namespace != "vpp-agent" {
			t.Errorf("%s: %v, changes %+v", p.Path, err, o)
		}
	}
	var patch configMap
	readYAML(t, "kubernetes-overlay/network.yaml", &patch)
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	if doc := document.New(set).Decode("network.yaml", []byte(patch.Data["network.yaml"]), ""); len(doc.Errs) > 0 || len(doc.Items) != 2 {
		t.Errorf("%d items, %v", len(doc.Items), doc.Errs)
	}
}

// kubectl builds both, where it is installed; make check-packages builds them with
// kustomize.
func TestKubectlBuilds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("SKIPPED: there is no kubectl here; make check-packages builds the kustomizations")
	}
	for dir, want := range map[string][]string{
		"kubernetes":         {"image: registry.example.com/vpp-agent:v1", "kind: Service", "10.1.0.1/24"},
		"kubernetes-overlay": {"image: registry.example.net/network/vpp-agent:v1.2.3", "kind: Service", "198.51.100.1/24", "memory: 8Gi"},
	} {
		out, err := exec.CommandContext(t.Context(), "kubectl", "kustomize", dir).CombinedOutput()
		for _, text := range want {
			if err != nil || !strings.Contains(string(out), text) {
				t.Errorf("%s lacks %q: %v\n%s", dir, text, err, out)
			}
		}
	}
}
