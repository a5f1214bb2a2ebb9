package response

// ItemSource is an item of one source.
type ItemSource struct {
	Source   string            `json:"source"`
	Location string            `json:"location,omitempty"` // where it was written
	Labels   map[string]string `json:"labels,omitempty"`
	Value    string            `json:"value,omitempty"` // as YAML, if the key was asked for
}

// SourcedItem is the item in effect for a key, and the items of other sources that it
// overrides, from the highest priority on.
type SourcedItem struct {
	Key string `json:"key"`
	ItemSource
	Shadowed []ItemSource `json:"shadowed,omitempty"`
}

// Models are the models of an agent. Descriptors is a google.protobuf.FileDescriptorSet
// with the files of their messages, each after those it imports; empty unless it was
// asked for.
type Models struct {
	Models      []Model `json:"models"`
	Descriptors []byte  `json:"descriptors,omitempty"`
}

// Model describes a model. Its JSON has the names that "agentctl model inspect" prints.
type Model struct {
	Name         string
	Class        string
	Module       string
	Type         string
	Version      string
	KeyPrefix    string
	NameTemplate string `json:",omitempty"`
	Singleton    bool   `json:",omitempty"`
	ProtoName    string
	ProtoFile    string
	Schema       string `json:",omitempty"` // text of ProtoFile, with the descriptors, if the program has it
}
