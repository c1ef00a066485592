-- Little's law: what is under way = rate times latency.
size(1150, 260)
box(10, 90, 150, 80, {fill = "sky", text = "threads", sub = "ask"})
box(990, 90, 150, 80, {fill = "purple", text = "memory", sub = "answers"})
path("M 162 110 L 988 110", {head = true, wide = 3})
path("M 988 152 L 162 152", {head = true, wide = 3})
for n = 0, 10 do box(200 + n * 70, 120, 44, 22, {fill = "orange"}) end
text(575, 80, "a pipe 0.8 µs long: bytes under way = rate × latency", {at = "middle", bold = true, size = 22})
text(575, 205, "4.2 TB/s × 0.8 µs = 3.4 MB, 25 KB for each multiprocessor, at all times", {at = "middle", size = 22})
text(575, 240, "2048 threads with one float each: 8 KB. With eight: 64 KB.", {at = "middle", size = 22})
