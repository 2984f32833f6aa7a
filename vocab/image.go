package vocab

// Image is the identity of a container image.
type Image struct {
	Ref    string `json:"image"`            // as it was asked for; empty where an engine lists what it has
	ID     string `json:"id,omitempty"`     // sha256:..., of its configuration, or of its manifest in containerd's image store
	Digest string `json:"digest,omitempty"` // sha256:..., of its manifest in the registry it came from; empty if built here
}
