package netlinkapi

import "strings"

// offloadPrefix begins the names of offloads among the parameters of a link.
const offloadPrefix = "offload."

// Offloads that are handled by a value of their own.
const (
	OffloadRXChecksum = "rx-checksumming"
	OffloadTXChecksum = "tx-checksumming"
)

// OffloadNames lists the offloads that the agent changes, as "ethtool -k" names them.
func OffloadNames() []string {
	return []string{
		OffloadRXChecksum, OffloadTXChecksum, "scatter-gather", "tcp-segmentation-offload", "generic-segmentation-offload",
		"generic-receive-offload", "large-receive-offload", "rx-vlan-offload", "tx-vlan-offload", "ntuple-filters", "receive-hashing",
	}
}

// OffloadNeeds returns the offload that the given one needs; empty if it needs none. While the needed one
// is off, the kernel keeps the given one off, too; afterwards it turns the given one on if that is requested
// (netdev_fix_features in net/core/dev.c). Meanwhile Sysctls returns whether it is requested.
func OffloadNeeds(offload string) string {
	switch offload {
	case "scatter-gather":
		return OffloadTXChecksum
	case "tcp-segmentation-offload", "generic-segmentation-offload":
		return "scatter-gather"
	}
	return ""
}

// OffloadParameter returns the name of an offload among the parameters of a link; see Sysctls.
func OffloadParameter(offload string) string { return offloadPrefix + offload }

// OffloadOf is the inverse of OffloadParameter; false for other parameters.
func OffloadOf(parameter string) (offload string, ok bool) {
	return strings.CutPrefix(parameter, offloadPrefix)
}

// Names of the numbers of queues among the parameters of a link.
const (
	QueuesRX       = "queues.rx"
	QueuesTX       = "queues.tx"
	QueuesCombined = "queues.combined"
)

// MaxQueues is the most queues that a number of them may have.
const MaxQueues = 65535

// QueueParameters lists the names of numbers of queues.
func QueueParameters() []string { return []string{QueuesRX, QueuesTX, QueuesCombined} }
