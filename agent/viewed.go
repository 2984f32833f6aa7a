package agent

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"iter"
	"slices"

	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
)

// viewed returns a picture that the editor read, as the model is shown it after earlier messages, which are not in
// the conversation yet, and a text about it. The same conversation and bytes always give the same.
func (r *run) viewed(data []byte, earlier []llm.Message) (about string, images []llm.Part) {
	read, err := picture.Read(data)
	switch {
	case err != nil:
		return fmt.Sprintf("This is no picture that can be shown: %v.", err), nil
	case r.turn.Sight.Blind:
		return fmt.Sprintf("This is a picture (%s, %d bytes), and the model takes none.", read.MediaType, len(data)), nil
	}
	list := []picture.Picture{{Image: read}}
	if limits, fits := r.room(earlier); !fits || picture.Fit(list, limits) != nil {
		return "The picture is not shown: the conversation has as many as the provider takes.", nil
	}
	about = fmt.Sprintf("%s, %d bytes", read.MediaType, len(data))
	if how := list[0].Changed; how != "" {
		about += " (" + how + ")"
	}
	return about, []llm.Part{list[0].Image}
}

// leastRoom is the size, in base64, of a picture that still says something.
const leastRoom = 100 << 10

// room returns the limits of one more picture in the conversation; fits is false if it takes none.
func (r *run) room(earlier []llm.Message) (limits llm.Sight, fits bool) {
	limits = r.turn.Sight
	count, left, side := 1, limits.Total, 0
	for i := range imagesIn(slices.Concat(r.sent, earlier)) {
		c, _, err := image.DecodeConfig(bytes.NewReader(i.Data))
		if err == nil { // otherwise nothing is known of it but its size
			side = max(side, c.Width, c.Height)
		}
		count, left = count+1, left-int64(base64.StdEncoding.EncodedLen(len(i.Data)))
	}
	if limits.Most > 0 && count > limits.Most {
		return limits, false
	}
	if limits.Many > 0 && count > limits.Many {
		if limits.Side = limits.ManySide; side > limits.ManySide {
			return limits, false
		}
	}
	if limits.Total > 0 {
		if limits.Bytes == 0 || left < limits.Bytes {
			limits.Bytes = left
		}
		return limits, left > leastRoom
	}
	return limits, true
}

// imagesIn yields the images of messages, with those in the results of tools.
func imagesIn(messages []llm.Message) iter.Seq[llm.Image] {
	return func(yield func(llm.Image) bool) {
		for _, m := range messages {
			for _, p := range m.Parts {
				parts := []llm.Part{p}
				if result, ok := p.(llm.ToolResult); ok {
					parts = result.Parts
				}
				for _, p := range parts {
					if i, ok := p.(llm.Image); ok && !yield(i) {
						return
					}
				}
			}
		}
	}
}
