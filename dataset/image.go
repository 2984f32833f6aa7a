package dataset

import "strings"

// ImageName returns the name of the image that the instance runs in: the row's
// own, unchanged, else the one that the SWE-bench project publishes for it,
// docker.io/swebench/sweb.eval.x86_64.<id>:latest in lower case with every
// "__" of the id written "_1776_".
//
// A prefix is a mirror: it takes the place of the registry host, or stands in
// front of a name that has none; the rest of the name stays. With
// "mirror.local/" (or "mirror.local"), docker.io/swebench/x:latest,
// ghcr.io/swebench/x:latest and swebench/x:latest all become
// mirror.local/swebench/x:latest; with "mirror.local/hub" they become
// mirror.local/hub/swebench/x:latest.
func (in Instance) ImageName(prefix string) string {
	name := in.Image
	if name == "" {
		name = strings.ToLower("docker.io/swebench/sweb.eval.x86_64." +
			strings.ReplaceAll(in.ID, "__", "_1776_") + ":latest")
	}
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" {
		return name
	}
	if host, rest, ok := strings.Cut(name, "/"); ok && isHost(host) {
		name = rest
	}
	return prefix + "/" + name
}

// isHost tells a registry from a namespace as Docker does: by a dot, a port, or "localhost".
func isHost(part string) bool {
	return part == "localhost" || strings.ContainsAny(part, ".:")
}
