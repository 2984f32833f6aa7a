package llm

// Sight says which images a model and its provider take. The zero value takes all of them.
type Sight struct {
	Blind bool // the model is known to see none

	Most  int   // images in a request; 0: no limit
	Bytes int64 // of one image, in base64; 0: no limit
	Total int64 // of all images in a request, in base64; 0: no limit
	Side  int   // pixels of an image's longer side; 0: no limit

	// With more than Many images in a request, no image may have more than ManySide pixels on a side; 0: no
	// such limit.
	Many, ManySide int

	NoGIF bool // no animation is taken, or no GIF at all
}
