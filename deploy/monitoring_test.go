package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"gopkg.in/yaml.v3"
)

// metric is a metric that the agent exports.
type metric struct {
	histogram bool
	labels    []string
}

// exported lists the metrics of the generated reference, which a running agent fills,
// and the metrics of the Go runtime and the process, which it leaves out.
func exported(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metric{"up": {}}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| ([a-z]+) \\| `?([^|`]*)`? \\|").FindAllStringSubmatch(string(text), -1) {
		found[row[1]] = metric{row[2] == "histogram", strings.Split(row[3], ", ")}
	}
	runtime := prometheus.NewRegistry()
	runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := runtime.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		found[f.GetName()] = metric{}
	}
	if len(found) < 150 {
		t.Fatalf("found %d metrics: is the pattern right?", len(found))
	}
	return found
}

var (
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	selector   = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	brackets   = regexp.MustCompile(`\[[^\]]*\]`)
	identifier = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	matcher    = regexp.MustCompile(`([a-zA-Z_]+)\s*[=!]`)
	template   = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*(?:\|[^}]*)?\}\}`)
)

// operators are the words of an expression that are no metrics.
var operators = []string{"and", "or", "unless", "bool"}

// checkExpr makes sure that the metrics of an expression exist, and that they have the
// labels that it and the texts beside it use.
func checkExpr(metrics map[string]metric, expr string, texts ...string) error {
	labels := map[string]bool{"instance": true, "job": true}
	plain := brackets.ReplaceAllString(grouping.ReplaceAllString(selector.ReplaceAllString(quoted.ReplaceAllString(expr, ""), "$1"), ""), "")
	for _, word := range identifier.FindAllString(plain, -1) {
		if strings.HasSuffix(word, "(") || slices.Contains(operators, strings.TrimSpace(word)) {
			continue
		}
		m, err := find(metrics, strings.TrimSpace(word))
		if err != nil {
			return err
		}
		for _, l := range m.labels {
			labels[l] = true
		}
		labels["le"] = labels["le"] || m.histogram
	}
	for _, s := range selector.FindAllStringSubmatch(quoted.ReplaceAllString(expr, ""), -1) {
		m, err := find(metrics, s[1])
		if err != nil {
			return err
		}
		for _, l := range matcher.FindAllStringSubmatch(s[2], -1) {
			if l[1] != "instance" && l[1] != "job" && !slices.Contains(m.labels, l[1]) {
				return fmt.Errorf("%s has no label %s", s[1], l[1])
			}
		}
	}
	var used []string
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		used = append(used, strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, text := range texts {
		for _, m := range template.FindAllStringSubmatch(text, -1) {
			used = append(used, m[1])
		}
	}
	for _, l := range used {
		if !labels[l] {
			return fmt.Errorf("no metric of %s has the label %s: expected one of %v", expr, l, slices.Sorted(maps.Keys(labels)))
		}
	}
	return nil
}

// find returns a metric by its name, or by the name of a part of a histogram.
func find(metrics map[string]metric, name string) (metric, error) {
	if m, ok := metrics[name]; ok && !m.histogram {
		return m, nil
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && metrics[base].histogram {
			return metrics[base], nil
		}
	}
	return metric{}, fmt.Errorf("the agent does not export %s", name)
}

func TestCheckExpr(t *testing.T) {
	t.Parallel()
	metrics := exported(t)
	for expr, want := range map[string]string{
		`rate(ligato_kvscheduler_operations_total{result="failed"}[5m]) > 0 and on (instance) up == 1`:    "",
		`histogram_quantile(0.9, sum by (le) (rate(ligato_kvscheduler_txn_duration_seconds_bucket[5m])))`: "",
		`ligato_kvscheduler_value{state="FAILED"} > 0`:                                                    "does not export ligato_kvscheduler_value",
		`ligato_kvscheduler_txn_duration_seconds > 0`:                                                     "does not export ligato_kvscheduler_txn_duration_seconds",
		`ligato_kvscheduler_values{kind="FAILED"} > 0`:                                                    "has no label kind",
		`sum by (descriptor) (ligato_kvscheduler_values)`:                                                 "has the label descriptor",
		`up > 0 or vpp_up > 0`: "does not export vpp_up",
	} {
		if err := checkExpr(metrics, expr); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
	if err := checkExpr(metrics, "up == 0", "{{ $labels.instance }} {{ $labels.descriptor }} {{ $value }}"); err == nil {
		t.Error("a label that no metric has is not found in a text")
	}
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = strictly(string(text), into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func alerts(t *testing.T) map[string]rule {
	t.Helper()
	var file ruleFile
	readYAML(t, "prometheus/alerts.yaml", &file)
	found := map[string]rule{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, twice := found[r.Alert]; twice || r.Alert == "" {
				t.Errorf("group %s: alert %q has no name or one that is in use", g.Name, r.Alert)
			}
			found[r.Alert] = r
		}
	}
	if len(found) < 15 {
		t.Fatalf("%d alerts", len(found))
	}
	return found
}

// Alerts are about metrics of the agent, and lead to a section of the operations guide.
func TestAlerts(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	const runbook = "https://github.com/tenuto-dev/tenuto/blob/main/docs/operations.md#"
	metrics, rules := exported(t), alerts(t)
	for name, r := range rules {
		if err := checkExpr(metrics, r.Expr, r.Annotations["summary"], r.Annotations["description"]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", name, r.Labels["severity"])
		}
		for _, a := range []string{"summary", "description"} {
			if text := r.Annotations[a]; !strings.HasSuffix(text, ".") || !strings.Contains(text, "$labels.instance") {
				t.Errorf("%s: %s %q: expected a sentence that names the agent", name, a, text)
			}
		}
		if got, want := r.Annotations["runbook_url"], runbook+strings.ToLower(name); got != want {
			t.Errorf("%s: runbook_url %s, want %s", name, got, want)
		}
		if !strings.Contains(string(guide), "\n### "+name+"\n") {
			t.Errorf("%s has no section in docs/operations.md", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (VPP\w+)$`).FindAllStringSubmatch(string(guide), -1) {
		if _, ok := rules[m[1]]; !ok {
			t.Errorf("docs/operations.md: there is no alert %s", m[1])
		}
	}
}

// Each alert has a test with a time at which it fires and one at which it does not.
func TestAlertsAreTested(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			Name  string
			Exprs []struct {
				Expr    string
				Samples []yaml.Node `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	text, err := os.ReadFile("prometheus/alerts_test.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, e := range test.Exprs {
			if e.Expr != `ALERTS{alertname="`+test.Name+`",alertstate="firing"}` {
				t.Errorf("test %s asks for %s", test.Name, e.Expr)
			}
			if len(e.Samples) > 0 {
				fires[test.Name] = true
			} else {
				silent[test.Name] = true
			}
		}
	}
	for name := range alerts(t) {
		if !fires[name] || !silent[name] {
			t.Errorf("alerts_test.yaml does not test %s: fires %v, does not fire %v", name, fires[name], silent[name])
		}
	}
}

// promtool runs the tool of Prometheus and returns its output.
func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("SKIPPED: there is no promtool here (make deps, or Debian: the package prometheus); Prometheus does not check the rules")
	}
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	return string(out), err
}

func TestPromtool(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"check rules prometheus/alerts.yaml", "check config prometheus/prometheus.yaml", "test rules prometheus/alerts_test.yaml",
	} {
		if out, err := promtool(t, strings.Fields(args)...); err != nil || !strings.Contains(out, "SUCCESS") {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Query any }
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("grafana/vpp-agent.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (p panel) overlaps(q panel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	d, metrics := readDashboard(t), exported(t)
	if d.UID == "" || d.Title == "" || len(d.Panels) < 30 {
		t.Fatalf("uid %q, title %q, %d panels", d.UID, d.Title, len(d.Panels))
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, fmt.Sprint(v.Name, " ", v.Type))
	}
	if want := []string{"datasource datasource", "instance query", "agent query"}; !slices.Equal(variables, want) {
		t.Errorf("variables %q, want %q", variables, want)
	}
	for i, p := range d.Panels {
		for _, q := range d.Panels[:i] {
			if p.ID == q.ID || p.overlaps(q) {
				t.Errorf("panels %q and %q have the same id or place", p.Title, q.Title)
			}
		}
		if p.ID < 1 || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: %+v", p.ID, p.Title, p.GridPos)
		}
		if (p.Type == "row") != (len(p.Targets) == 0) || (p.Type == "row") != (p.Description == "") {
			t.Errorf("panel %q of type %s has %d targets, description %q", p.Title, p.Type, len(p.Targets), p.Description)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q does not use the variable of the data source", p.Title)
			}
			if !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("panel %q: %s does not follow the variable instance", p.Title, target.Expr)
			}
			if err := checkExpr(metrics, target.Expr, target.LegendFormat); err != nil {
				t.Errorf("panel %q: %v", p.Title, err)
			}
		}
	}
}

// Prometheus parses the queries of the dashboard, with its variables filled in.
func TestDashboardQueries(t *testing.T) {
	t.Parallel()
	type record struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var records []record
	fill := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$agent", ".*")
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			records = append(records, record{fmt.Sprintf("panel%d:%s", p.ID, target.RefID), fill.Replace(target.Expr)})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": records}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := promtool(t, "check", "rules", file)
	if err != nil || !strings.Contains(out, fmt.Sprintf("SUCCESS: %d rules found", len(records))) {
		t.Errorf("%d queries: %v\n%s", len(records), err, out)
	}
}
