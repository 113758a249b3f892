student_id = "ANSWERS_partly_right"

q_kind = "Quadratic"
q_twice = "４２"
q_linear_maps = "cedar"
q_outer_shape = "3 × 9"
