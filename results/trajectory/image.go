package trajectory

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Image is an image that the model was shown.
type Image struct {
	Type   string `json:"type"`             // image/png, image/jpeg, image/gif or image/webp
	Bytes  int    `json:"bytes"`            // 0: it is hidden, since a secret is in it
	Source string `json:"source,omitempty"` // where it is from and how it was changed; empty if unknown
	Data   string `json:"-"`                // base64
}

// imageTypes are the types of images that are shown: a browser does not run what is in them.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imagesOf returns the images of a message that batch wrote, in order. Parts of another type, or with data
// that is not base64, are left out.
func imagesOf(m gjson.Result) (list []Image) {
	extra := m.Get("extra")
	sources := extra.Get("images").Array()
	var add func(parts gjson.Result)
	add = func(parts gjson.Result) {
		for _, p := range parts.Array() {
			add(p.Get("parts")) // of a tool's result
			i := Image{Type: p.Get("media_type").String(), Data: p.Get("data").String()}
			data, err := base64.StdEncoding.DecodeString(i.Data)
			if p.Get("type").String() != "image" || err != nil || !slices.Contains(imageTypes, i.Type) {
				continue
			}
			if i.Bytes = len(data); len(list) < len(sources) {
				from := sources[len(list)]
				i.Source = strings.TrimRight(from.Get("source").String()+", "+from.Get("changed").String(), ", ")
			}
			list = append(list, i)
		}
	}
	if parts := extra.Get("parts"); parts.IsArray() {
		add(parts)
	}
	return list
}

// URL is an address with the image itself.
func (i Image) URL() string { return "data:" + i.Type + ";base64," + i.Data }
