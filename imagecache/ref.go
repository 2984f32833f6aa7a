package imagecache

import "strings"

// Ref returns the key under which a cache knows the image of that name for a platform, such
// as linux/arm64. Without a platform it is the name, and the engine chooses the platform.
func Ref(name, platform string) string {
	if platform == "" {
		return name
	}
	return name + " " + platform
}

// CutRef splits a ref that [Ref] made into name and platform. Any other string is returned
// as a name, even if no image can have it.
func CutRef(ref string) (name, platform string) {
	i := strings.LastIndexByte(ref, ' ')
	if i < 0 || !strings.Contains(ref[i:], "/") {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

// withID returns ref with an image's id in place of its name.
func withID(ref, id string) string {
	_, platform := CutRef(ref)
	return Ref(id, platform)
}

// nameOf returns the name in ref. Images for several platforms share it, so a caller that
// needs one of them holds all of them.
func nameOf(ref string) string {
	name, _ := CutRef(ref)
	return name
}
