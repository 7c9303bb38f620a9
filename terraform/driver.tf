# The driver runs the controller: it makes the load, breaks things, judges, and
# uploads the report. It is on demand also where the hosts are on Spot.
locals {
  driver_boot = templatefile("${path.module}/templates/user-data.yaml.tftpl", {
    files = merge(local.files.common, local.files.driver, var.fis_enabled ? local.files.fis : {})
    settings = merge(local.settings, {
      NAME     = "driver"
      UNITS    = "locklab-secrets.service"
      PACKAGES = ""
      PROGRAMS = ""
    })
  })
  driver_user_data = base64gzip(local.driver_boot)
}

resource "aws_instance" "driver" {
  ami                                  = local.ami
  instance_type                        = var.driver_instance_type
  subnet_id                            = aws_subnet.control.id
  vpc_security_group_ids               = [aws_security_group.lab["driver"].id]
  associate_public_ip_address          = false
  iam_instance_profile                 = aws_iam_instance_profile.lab["driver"].name
  instance_initiated_shutdown_behavior = "terminate"
  user_data_base64                     = local.driver_user_data # cloud-init unpacks it
  user_data_replace_on_change          = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = var.volume_gib
  }

  dynamic "credit_specification" {
    for_each = data.aws_ec2_instance_type.used[var.driver_instance_type].burstable_performance_supported ? ["standard"] : []

    content {
      cpu_credits = credit_specification.value
    }
  }

  tags        = { Name = "${var.name}-driver", Host = "driver" }
  volume_tags = { Lab = var.name, Name = "${var.name}-driver" }

  lifecycle {
    ignore_changes = [ami]

    precondition {
      condition     = length(local.driver_user_data) * 3 / 4 <= 16384
      error_message = "The user data of the driver is longer than the 16 KiB that EC2 takes."
    }
  }

  depends_on = [
    aws_scheduler_schedule.stop, terraform_data.checked,
    aws_iam_role_policy.lab, aws_s3_object.binary, aws_vpc_endpoint.api, aws_vpc_endpoint.s3, aws_route_table_association.control,
    aws_vpc_security_group_egress_rule.flow, aws_vpc_security_group_egress_rule.s3, aws_vpc_security_group_ingress_rule.flow,
  ]
}
