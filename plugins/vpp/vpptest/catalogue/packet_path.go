package catalogue

// packetPathItems treat packets on their way.
func packetPathItems() []Item {
	return []Item{
		mssClamp(),
		pathMTU(),
		reassemblyInterface(),
		reassemblySettings(),
		urpfInterface(),
	}
}
