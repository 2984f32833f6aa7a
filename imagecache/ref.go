package imagecache

import "strings"

// Ref returns what a cache calls the image of that name for a platform, such as
// linux/arm64. Without one it is the name itself, and the engine chooses.
func Ref(name, platform string) string {
	if platform == "" {
		return name
	}
	return name + " " + platform
}

// CutRef returns the name and the platform of which [Ref] made ref. What looks
// otherwise is a name, and be it one that no image can have.
func CutRef(ref string) (name, platform string) {
	i := strings.LastIndexByte(ref, ' ')
	if i < 0 || !strings.Contains(ref[i:], "/") {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

// withID is ref with an image's id in place of its name.
func withID(ref, id string) string {
	_, platform := CutRef(ref)
	return Ref(id, platform)
}

// nameOf is the name in ref. Images for several platforms share it, so whoever
// needs one of them holds it for all.
func nameOf(ref string) string {
	name, _ := CutRef(ref)
	return name
}
