package catalogue

import "slices"

// packetPathItems treat packets on their way.
func packetPathItems() []Item {
	return slices.Concat(policerItems(), qosItems(), cnatItems(), classifyItems(), lldpItems(), []Item{
		mssClamp(),
		pathMTU(),
		routerAdvertisement(),
		reassemblyInterface(),
		reassemblySettings(),
		urpfInterface(),
	})
}
