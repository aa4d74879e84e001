package mockkafka

//go:generate go run ../internal/generate ../../openapi.json types_generated.go operations_generated.go
