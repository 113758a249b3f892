student_id = "somebody_else"

q_linear_maps = "cedar, amber, birch, delta"
q_outer_shape = (4, 8)
