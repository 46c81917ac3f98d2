package trace

import (
	"encoding/binary"
	"hash/crc32"
)

// Resum returns data with the length and the checksum that it should have.
func Resum(data []byte) []byte {
	if len(data) < headerSize+footerSize {
		return data
	}
	b := append([]byte(nil), data...)
	end := len(b) - footerSize
	binary.LittleEndian.PutUint64(b[headerSize-8:], uint64(end-headerSize))
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	return b
}
