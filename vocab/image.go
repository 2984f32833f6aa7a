package vocab

// Image is the identity of a container image.
type Image struct {
	Ref    string `json:"image"`            // as requested; empty in an engine's list of its images
	ID     string `json:"id,omitempty"`     // sha256:..., of its configuration, or of its manifest in containerd's image store
	Digest string `json:"digest,omitempty"` // sha256:..., of its manifest in its registry; empty if built locally
}
