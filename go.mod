module batch.example/batch

go 1.26
