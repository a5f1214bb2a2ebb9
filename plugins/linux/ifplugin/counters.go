package ifplugin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// InterfaceCounters are the counters of an interface of the configuration, as the predecessor
// writes them.
type InterfaceCounters struct {
	Name      string                    `json:"interface_name"`
	Type      interfaces.Interface_Type `json:"interface_type"`
	Index     int                       `json:"linux_if_index"`
	RXPackets uint64                    `json:"rx_packets"`
	TXPackets uint64                    `json:"tx_packets"`
	RXBytes   uint64                    `json:"rx_bytes"`
	TXBytes   uint64                    `json:"tx_bytes"`
	RXErrors  uint64                    `json:"rx_errors"`
	TXErrors  uint64                    `json:"tx_errors"`
	RXDropped uint64                    `json:"rx_dropped"`
	TXDropped uint64                    `json:"tx_dropped"`
}

// Counters reads the counters of the interfaces of the configuration, sorted by name. Each
// namespace is read once; namespaces that no longer exist are left out.
func (p *Plugin) Counters(ctx context.Context) ([]InterfaceCounters, error) {
	spaces := map[string]*namespace.NetNamespace{}
	named := map[string]map[string]ifaceidx.LinuxIfMetadata{}
	for name, meta := range p.index.All() {
		ref := nsmodel.Text(meta.Namespace)
		if spaces[ref] = meta.Namespace; named[ref] == nil {
			named[ref] = map[string]ifaceidx.LinuxIfMetadata{}
		}
		named[ref][name] = meta
	}
	all := []InterfaceCounters{}
	var errs []error
	for ref, ns := range spaces {
		links, err := p.links(ctx, ns)
		if err != nil && !netlinkapi.IsGone(err) {
			errs = append(errs, err)
		}
		for name, meta := range named[ref] {
			if link, ok := links[meta.LinuxIfIndex]; ok {
				all = append(all, countersOf(name, meta, link))
			}
		}
	}
	slices.SortFunc(all, func(a, b InterfaceCounters) int { return cmp.Compare(a.Name, b.Name) })
	return all, errors.Join(errs...)
}

// links returns the links of a namespace by their indexes.
func (p *Plugin) links(ctx context.Context, ns *namespace.NetNamespace) (map[int]netlinkapi.Link, error) {
	h, err := p.Namespaces.Peek(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer closeHandle(h)
	links, err := h.Links(ctx)
	byIndex := make(map[int]netlinkapi.Link, len(links))
	for _, l := range links {
		byIndex[l.Index] = l
	}
	return byIndex, err
}

func countersOf(name string, meta ifaceidx.LinuxIfMetadata, link netlinkapi.Link) InterfaceCounters {
	c := link.Counters
	return InterfaceCounters{
		Name: name, Type: typeOf(meta, link), Index: link.Index,
		RXPackets: c.RXPackets, TXPackets: c.TXPackets, RXBytes: c.RXBytes, TXBytes: c.TXBytes,
		RXErrors: c.RXErrors, TXErrors: c.TXErrors, RXDropped: c.RXDropped, TXDropped: c.TXDropped,
	}
}

// counters is the inverse of countersOf.
func (c InterfaceCounters) counters() netlinkapi.Counters {
	return netlinkapi.Counters{
		RXPackets: c.RXPackets, TXPackets: c.TXPackets, RXBytes: c.RXBytes, TXBytes: c.TXBytes,
		RXErrors: c.RXErrors, TXErrors: c.TXErrors, RXDropped: c.RXDropped, TXDropped: c.TXDropped,
	}
}

// InterfaceStats reads the counters as Counters does, for clients of gRPC.
func (p *Plugin) InterfaceStats(ctx context.Context) ([]*interfaces.InterfaceStats, error) {
	counted, err := p.Counters(ctx)
	all := make([]*interfaces.InterfaceStats, len(counted))
	for i, c := range counted {
		all[i] = &interfaces.InterfaceStats{
			Name:    c.Name,
			Rx:      &interfaces.InterfaceStats_CombinedCounter{Packets: c.RXPackets, Bytes: c.RXBytes},
			Tx:      &interfaces.InterfaceStats_CombinedCounter{Packets: c.TXPackets, Bytes: c.TXBytes},
			RxError: c.RXErrors, TxError: c.TXErrors, Drops: c.RXDropped + c.TXDropped, RxDrops: c.RXDropped, TxDrops: c.TXDropped,
		}
	}
	return all, err
}

// publishCounters registers the endpoint and the metrics.
func (p *Plugin) publishCounters() error {
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(newCollector(p)); err != nil {
			return err
		}
	}
	if p.HTTP == nil {
		return nil
	}
	return p.HTTP.Register(p.String(), rest.Endpoint{
		Path: "/stats/linux/interfaces", Groups: []string{rest.GroupStats}, Handler: p.serveCounters,
		Response: []InterfaceCounters{}, Doc: "counters of the interfaces of Linux",
	}, p.ratesEndpoint(), p.historyEndpoint())
}

func (p *Plugin) serveCounters(w http.ResponseWriter, r *http.Request) {
	all, err := p.Counters(r.Context())
	if err != nil {
		rest.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, all)
}

// counterMetric is a counter of each interface.
type counterMetric struct {
	desc  *prometheus.Desc
	value func(InterfaceCounters) uint64
}

// collector shows the counters of interfaces to Prometheus.
type collector struct {
	plugin  *Plugin
	metrics []counterMetric
}

func newCollector(p *Plugin) *collector {
	c := &collector{plugin: p}
	agent := prometheus.Labels{"agent": p.ServiceLabel.GetAgentLabel()}
	add := func(name, help string, value func(InterfaceCounters) uint64) {
		desc := prometheus.NewDesc("linux_interface_"+name+"_total", help, []string{"interface"}, agent)
		c.metrics = append(c.metrics, counterMetric{desc, value})
	}
	add("rx_packets", "Packets that the interface of Linux received.", func(c InterfaceCounters) uint64 { return c.RXPackets })
	add("tx_packets", "Packets that the interface of Linux sent.", func(c InterfaceCounters) uint64 { return c.TXPackets })
	add("rx_bytes", "Bytes of the packets received.", func(c InterfaceCounters) uint64 { return c.RXBytes })
	add("tx_bytes", "Bytes of the packets sent.", func(c InterfaceCounters) uint64 { return c.TXBytes })
	add("rx_errors", "Packets received with errors.", func(c InterfaceCounters) uint64 { return c.RXErrors })
	add("tx_errors", "Packets that could not be sent because of errors.", func(c InterfaceCounters) uint64 { return c.TXErrors })
	add("rx_dropped", "Packets received and dropped.", func(c InterfaceCounters) uint64 { return c.RXDropped })
	add("tx_dropped", "Packets dropped instead of sent.", func(c InterfaceCounters) uint64 { return c.TXDropped })
	return c
}

// Describe sends the descriptions of the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect reads and sends the counters.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	all, err := c.plugin.Counters(c.plugin.Context())
	if err != nil {
		c.plugin.Log.Debug("counters of interfaces were not read", "error", err)
	}
	for _, counters := range all {
		for _, m := range c.metrics {
			ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.value(counters)), counters.Name)
		}
	}
}
