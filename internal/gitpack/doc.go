// Package gitpack takes objects out of the packs of a git object store, without inflating,
// comparing and deflating the objects that stay, as git pack-objects would. It copies their
// bytes as they are: that takes a quarter of the time.
//
// [Keep] writes packs and indexes in version 2, with SHA-1 ids, as gitformat-pack(5)
// describes them. It trusts the checksums of the indexes, and compares each entry that it
// copies with its checksum. It refuses everything that it does not know, so that its caller
// can ask git instead. It is not safe to change a store while Keep reads it.
package gitpack
